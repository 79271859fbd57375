"""No secret reaches the disk, and what only looks like one stays readable."""

import pytest

from tb_health_plugin.events import codec, facts
from tb_health_plugin.events.private_text import masked, masked_setting

# Made up, in the form of real ones. Joined here, so that no scanner takes this
# file for a leak.
AMAZON = "AKIA" + "QYLPMN5HFIQR7XYA"
GITHUB = "ghp_" + "x8Kq2mN7vB4cZ1aS6dF9gH3jL5pO0iU8yT2r"
FACE = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"
MODEL = "sk-" + "proj-9aF3kLmN2pQrS7tUvW8xYz1B"
WEB = ".".join(("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NSJ9", "dBjftJeZ4CVP-mB92K27"))
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"denied for {AMAZON} in eu-1", "denied for *** in eu-1"),
        (f"git clone failed ({GITHUB})", "git clone failed (***)"),
        (f"login({FACE!r})", "login('***')"),
        (f"401: {MODEL}", "401: ***"),
        (f"cookie {WEB};", "cookie ***;"),
        (f"key:\n{KEY}\nend", "key:\n***\nend"),
        ("s3://me:hunter2@host/a", "s3://me:***@host/a"),
        ("redis://:p4ss@10.0.0.1:6379", "redis://:***@10.0.0.1:6379"),
        (
            "Authorization: Bearer abcdef0123456789abcdef",
            "Authorization: Bearer ***",
        ),
        ('password="correct horse"', "password=***"),
        ("WANDB_API_KEY=0123456789abcdef0123", "WANDB_API_KEY=***"),
        ('{"secret": "abc def"}', '{"secret": ***}'),
        ("train.py --auth-token 8f14e45fceea167a", "train.py --auth-token ***"),
    ],
)
def test_a_secret_is_hidden_and_the_words_around_it_stay(text: str, clean: str):
    assert masked(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "token = tokenizer.encode(text)",
        "KeyError: 'token'",
        "max_tokens=512, tokens: 1000000",
        "the secret of good training is data",
        "password = getpass.getpass()",
        "access_key = os.environ['AWS_ACCESS_KEY_ID']",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "https://keras.io/api/callbacks/#token",
        "http://localhost:6006/#health",
        'File "/project/basic_training.py", line 12345678, in token',
        "dense_1/kernel:0 shape (8, 16)",
        "Incompatible shapes: [32,10] vs. [32,1] at token 3",
        "grpc://worker-1:2222 is down, task:1",
    ],
)
def test_plain_words_are_left_alone(text: str):
    assert masked(text) == text


def test_a_setting_with_a_telling_name_is_hidden_whole():
    assert masked_setting("env.MY_TOKEN", "plain") == "***"
    assert masked_setting("optimizer.name", "Adam") == "Adam"
    assert masked_setting("tokenizer", "words") == "words"


def test_a_long_text_takes_no_time_worth_naming():
    text = "token " * 50_000 + "a:b@" * 10_000

    assert len(masked(text)) <= len(text)


@pytest.mark.parametrize(
    "fact",
    [
        facts.RunEnded(wall_time=1.0, message=f"401 for {GITHUB}", text=f"x={MODEL}"),
        facts.RunStarted(wall_time=1.0, settings={"env.A_TOKEN": "abc", "b": FACE}),
        facts.ProgramSaid(wall_time=1.0, message="use s3://me:hunter2@host"),
    ],
)
def test_no_fact_carries_one_to_the_disk(fact: facts.Fact):
    data = codec.fact_summary(fact).SerializeToString()

    for secret in (GITHUB, MODEL, FACE, "hunter2", "abc"):
        assert secret.encode() not in data
