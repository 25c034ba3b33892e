from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.judge import judge
from tests.support import TODAY


def codes(*arguments: str) -> set[str]:
    container = {
        "name": "engine",
        "image": "vllm/vllm-openai:v0.26.0",
        "args": ["MiniMaxAI/MiniMax-M2.7", "--tensor-parallel-size", "8", *arguments],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m"}, "spec": spec}
    return {finding.code for finding in judge(recognise([Document(made)]), today=TODAY) if "192" in finding.summary}


def test_experts_cut_to_a_width_that_no_scale_block_divides_are_refused_and_whole_ones_pass() -> None:
    assert codes() != set()
    assert codes("--enable-expert-parallel") == set()
    assert codes("--no-enable-expert-parallel") == codes()
