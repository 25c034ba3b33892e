"""What tests of all rooms build with: a minimal config, a minimal Deployment, one change of either."""

from tests.support.build import TODAY, changed, config, config_data, deployment, engine_text

__all__ = ["TODAY", "changed", "config", "config_data", "deployment", "engine_text"]
