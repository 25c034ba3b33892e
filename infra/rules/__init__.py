"""Rules over workload facts: findings, waivers and the one explicit tuple of rules."""
