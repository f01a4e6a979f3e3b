"""Configs: what is read, what is refused with which error, and that written configs read back."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlgo.base.errors import RlgoError
from rlgo.base.resources import checkpoints_dir, config_path, list_configs
from rlgo.base.settings import (
    NORMALISATIONS,
    POLICIES,
    SHARINGS,
    STEP_SCHEDULES,
    UPDATES,
    VALUES,
    Learning,
    Policy,
)
from train.cli.main import main
from train.config import (
    SECTIONS,
    BoardConfig,
    Config,
    FeaturesConfig,
    LearningConfig,
    PolicyConfig,
    RunConfig,
    SweepConfig,
    TournamentConfig,
    change,
    check_effects,
    config_from_dict,
    flat,
    load_config,
    overrides,
    parse_override,
    to_toml,
)
from train.experiments.declaration.settings import ExperimentConfig, SeriesConfig, StatedConfig
from train.runs.learners import features_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """write(text) -> the path of a config file that holds it."""

    def write(text: str) -> Path:
        path = tmp_path / "some.toml"
        path.write_text(text, "utf-8")
        return path

    return write


# ---------------------------------------------------------------------------------------------
# What is read
# ---------------------------------------------------------------------------------------------


def test_an_empty_file_is_the_default_setting(write: Any) -> None:
    config = load_config(write(""))
    assert config == Config()
    assert (config.board.size, config.board.komi) == (9, 7.5)
    assert config.features == FeaturesConfig(sizes=(1, 2, 3), sharing="LI+LD")
    assert config.learning.values() == {
        "alpha": 0.3,
        "alpha_schedule": "constant",
        "alpha_final": 0.01,
        "alpha_half": 100_000.0,
        "lambda_": 0.0,
        "plies": 2,
        "value": "logistic",
        "update": "game",
        "normalise": "slots",
        "averaging": 3.0,
        "optimiser": "normalised",
        "output": "mean",
    }
    assert config.policy.values() == {"kind": "epsilon_greedy", "epsilon": 0.2, "temperature": 0.1, "max_moves": 0}


def test_values_arrive_with_their_types(write: Any) -> None:
    config = load_config(write("[learning]\nalpha = 1\nlambda = 0.5\n[features]\nsizes = [1, 3]\n[board]\nkomi = 7\n"))
    assert config.learning.rule.alpha == 1.0
    assert type(config.learning.rule.alpha) is float
    assert config.learning.rule.lambda_ == 0.5
    assert config.features.sizes == (1, 3)
    assert type(config.board.komi) is float


def test_windows_go_by_name_in_canonical_form(write: Any) -> None:
    config = load_config(write('[features]\nwindows = ["atari plus", "stones 3x2", ".x./xxx/.x."]\nsizes = []\n'))
    assert config.features == FeaturesConfig(sizes=(), windows=(".x./xxx/.x.", "2x3", "atari plus"))
    assert features_of(config).name == "9x9 .x./xxx/.x.+2x3 LI+LD, atari plus LI"
    assert load_config(write(to_toml(config))) == config
    # Their old name, from before irregular windows could see stones alone.
    old = load_config(write('[features]\nliberties = ["liberties 2x2"]\n'), 'features.liberties=["atari 2x2"]')
    assert old.features == FeaturesConfig(windows=("atari 2x2",))


def test_overrides_come_last_and_the_last_wins(write: Any) -> None:
    path = write("[run]\ngames = 5\nname = 'a'\n[learning]\nlambda = 0.25\n")
    config = load_config(
        path,
        [
            "run.games=7",
            "run.games = 8",
            "run.name=b",
            "features.sizes=[2]",
            "features.sharing=LI+LD",
            "learning.lambda=0.75",
            'run.out="some where"',
        ],
    )
    assert config.run == RunConfig(games=8, name="b", out="some where")
    assert config.features.sizes == (2,)
    assert config.learning.rule.lambda_ == 0.75
    assert load_config(path, "run.games=9").run.games == 9


def test_a_path_may_begin_at_home(write: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    config = load_config(write('[run]\nout = "~/runs"'), "run.start=~/w.npz")
    assert (config.run.out, config.run.start) == (f"{tmp_path}/runs", f"{tmp_path}/w.npz")
    assert load_config(write("")).run.start == ""
    (tmp_path / "mine.toml").write_text("[run]\ngames = 3")
    assert load_config("~/mine.toml").run.games == 3
    with pytest.raises(RlgoError, match=r"run\.out = .*~no-such-user/x.*: expected the path of a folder"):
        load_config(write('[run]\nout = "~no-such-user/x"'))


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "bom.toml"
    file.write_bytes(b'\xef\xbb\xbf[run]\nname = "bom"\ngames = 100\n')
    assert load_config(file).run.name == "bom"


def test_config_from_dict() -> None:
    assert config_from_dict({"board": {"size": 5}}) == Config(board=BoardConfig(size=5))
    with pytest.raises(RlgoError, match=r"^here: board.size = 4: expected an integer from 5 to 19$"):
        config_from_dict({"board": {"size": 4}}, source="here")


# ---------------------------------------------------------------------------------------------
# What is refused
# ---------------------------------------------------------------------------------------------

WRONG = [
    # unknown keys and sections
    ("[learning]\nalhpa = 1", "unknown key learning.alhpa; did you mean learning.alpha"),
    ("[lerning]\nalpha = 1", "unknown key lerning.alpha; did you mean learning.alpha"),
    ("[run]\nepsilon = 1", "unknown key run.epsilon; did you mean policy.epsilon"),
    ("games = 1", "unknown key games; did you mean run.games"),
    ("run = 1", "run = 1: expected a table [run]"),
    ("[run.games]\nn = 1", "run.games = {'n': 1}: expected an integer of at least 1"),
    ("[learning]\nlambda = 0\nlambda_ = 0", "learning.lambda_ cannot be combined with learning.lambda, its other name"),
    # types
    ("[run]\ngames = true", "run.games = true: expected an integer of at least 1"),
    ("[run]\ngames = 1.5", "run.games = 1.5: expected an integer of at least 1"),
    ("[run]\ngames = inf", "run.games = inf: expected an integer of at least 1"),
    ("[board]\nsize = 9.5", "board.size = 9.5: expected an integer from 5 to 19"),
    ("[run]\ngames = '9'", 'run.games = "9": expected an integer of at least 1'),
    ("[run]\nname = 3", "run.name = 3: expected a folder name"),
    ("[learning]\nalpha = true", "learning.alpha = true: expected a positive number"),
    ("[learning]\nplies = true", "learning.plies = true: expected an integer from 1 to 2"),
    ("[learning]\nvalue = 1", 'learning.value = 1: expected one of "logistic", "linear"'),
    ("[features]\nsizes = 3", "features.sizes = 3: expected an ascending subset of [1, 2, 3]"),
    ("[features]\nsizes = [true]", "features.sizes = [True]: expected an ascending subset of [1, 2, 3]"),
    ("[run]\nseed = 2001-01-01", "run.seed = datetime.date(2001, 1, 1): expected an integer from 0"),
    # ranges
    ("[run]\nname = '../x'", 'run.name = "../x": expected a folder name'),
    ("[run]\nname = '..'", 'run.name = "..": expected a folder name'),
    ("[run]\nout = ''", 'run.out = "": expected the path of a folder'),
    ('[run]\nout = "a\\nb"', 'run.out = "a\\nb": expected the path of a folder'),
    ("[run]\nseed = -1", "run.seed = -1: expected an integer from 0 to 9,223,372,036,854,775,807"),
    ("[run]\ngames = 0", "run.games = 0: expected an integer of at least 1"),
    ("[run]\nlog_every = 0", "run.log_every = 0: expected an integer of at least 1"),
    ("[run]\neval_every = -1", "run.eval_every = -1: expected an integer of at least 0"),
    ("[run]\neval_games = 1", "run.eval_games = 1: expected an even number from 2 to 10,000,000"),
    ("[run]\ngnugo_games = 3", "run.gnugo_games = 3: expected an even number from 0 to 10,000,000"),
    ("[board]\nsize = 4", "board.size = 4: expected an integer from 5 to 19"),
    ("[board]\nsize = 20", "board.size = 20: expected an integer from 5 to 19"),
    ("[board]\nkomi = nan", "board.komi = nan: expected a number from -10,000 to 10,000"),
    ("[board]\nkomi = 10_001", "board.komi = 10001: expected a number from -10,000 to 10,000"),
    ("[features]\nsizes = []", "features.sizes = [] cannot be combined with features.windows = []"),
    (
        '[features]\nwindows = ["2x3", "atari 4x4"]',
        "features.windows = ['2x3', 'atari 4x4']: expected a list of names such as \"2x3\", \"atari plus\" or",
    ),
    ("[features]\nwindows = 3", "features.windows = 3: expected a list of names such as"),
    ("[features]\nwindows = [3]", "features.windows = [3]: expected a list of names such as"),
    (
        '[features]\nwindows = ["plus"]\nliberties = ["atari plus"]',
        "features.liberties cannot be combined with features.windows, its other name",
    ),
    ("[features]\nsizes = [2, 1]", "features.sizes = [2, 1]: expected an ascending subset"),
    ("[features]\nsizes = [1, 1]", "features.sizes = [1, 1]: expected an ascending subset"),
    ("[features]\nsizes = [3, 4]", "features.sizes = [3, 4]: expected an ascending subset"),
    (
        "[features]\nsharing = 'li'",
        'features.sharing = "li": expected one of "LI+LD", "LI", "LD", "inversion", "none"',
    ),
    ("[learning]\nalpha = 0", "learning.alpha = 0: expected a positive number"),
    ("[learning]\nalpha = inf", "learning.alpha = inf: expected a positive number"),
    ("[learning]\nalpha = 1" + 400 * "0", "learning.alpha = 1000"),
    ("[learning]\nalpha_final = -0.1", "learning.alpha_final = -0.1: expected a number of at least 0"),
    ("[learning]\nalpha_half = 0", "learning.alpha_half = 0: expected a positive number"),
    ("[learning]\nlambda = 1.01", "learning.lambda = 1.01: expected a number from 0 to 1"),
    ("[learning]\nplies = 3", "learning.plies = 3: expected an integer from 1 to 2"),
    (
        "[learning]\nalpha_schedule = 'exponential'\nalpha_final = 0",
        'learning.alpha_final = 0 cannot be combined with learning.alpha_schedule = "exponential"',
    ),
    (
        "[policy]\nkind = 'random'",
        'policy.kind = "random": expected one of "epsilon_greedy", "greedy", "softmax"',
    ),
    ("[policy]\nepsilon = -0.1", "policy.epsilon = -0.1: expected a number from 0 to 1"),
    ("[policy]\ntemperature = 0", "policy.temperature = 0: expected a positive number"),
    ("[policy]\nmax_moves = -1", "policy.max_moves = -1: expected an integer from 0 to 1,444"),
    # names that are no words
    ('[run]\n"ga\\nmes\\u0000" = 1', "unknown key run.ga mes?; did you mean run.games?"),
    (f'"{"x" * 90}" = 1', f"unknown key {'x' * 57}...; expected a section: "),
    # not TOML
    ("[run", "not valid TOML: "),
    ("[run]\ngames = 1\ngames = 2", "not valid TOML: "),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_file_is_refused_in_one_line(write: Any, text: str, message: str) -> None:
    path = write(text)
    with pytest.raises(RlgoError) as caught:
        load_config(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: {message}")
    assert "\n" not in line
    assert len(line) < len(str(path)) + 200


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("run.games", "--set run.games: expected section.key=value"),
        ("=3", "--set =3: expected section.key=value"),
        ("run.gamse=3", "--set run.gamse=3: unknown key run.gamse; did you mean run.games"),
        ("alpha=3", "--set alpha=3: unknown key alpha; did you mean learning.alpha"),
        ("learning.=3", "--set learning.=3: unknown key learning."),
        ("run=3", "--set run=3: run = 3: expected a table [run]"),
        ("run.games=many", '--set: run.games = "many": expected an integer of at least 1'),
        ("run.games=1\nseed=2", '--set: run.games = "1\\nseed=2": expected an integer'),
        ("features.sizes=[1,", '--set: features.sizes = "[1,": expected an ascending subset'),
        ("board.size=20", "--set: board.size = 20: expected an integer from 5 to 19"),
    ],
)
def test_a_wrong_override_is_refused(write: Any, override: str, message: str) -> None:
    with pytest.raises(RlgoError) as caught:
        load_config(write(""), [override])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("overrides", "needed"),
    [
        (["learning.alpha_final=0.1"], "learning.alpha_schedule = linear or exponential"),
        (["learning.alpha_half=9", "learning.alpha_schedule=linear"], "learning.alpha_schedule = harmonic"),
        (["run.gnugo_every=5"], "run.gnugo_games of at least 2"),
        (["policy.temperature=0.5"], "policy.kind = softmax"),
        (["policy.epsilon=0.5", "policy.kind=softmax"], "policy.kind = epsilon_greedy"),
        (["features.liberty_sharing=LD"], "features.windows that show atari or liberties"),
        (["features.liberty_sharing=LD", 'features.windows=["atari 2x2"]'], ""),
        (["run.cluster_timeout=5"], "run.cluster"),
        (["learning.averaging=1", "learning.output=last"], "learning.output = mean"),
        (["run.gnugo_every=5", "run.gnugo_games=2", "run.games=9", "learning.lambda=0.5"], ""),
        (["learning.alpha_final=0.1", "learning.alpha_schedule=exponential"], ""),
    ],
)
def test_an_override_without_effect_is_refused(overrides: list[str], needed: str) -> None:
    config = load_config("default", overrides)
    if not needed:
        check_effects(config, overrides)
        return
    with pytest.raises(RlgoError) as error:
        check_effects(config, overrides)
    assert str(error.value) == f"--set {overrides[0]} has no effect here: it needs {needed}"


def test_train_refuses_what_has_no_effect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "default", "--set", "learning.alpha_final=0.1", "--out", str(tmp_path / "runs")]) == 2
    assert "has no effect here" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_an_override_does_not_hide_a_mistake_in_the_file(write: Any) -> None:
    path = write("[board]\nsize = 4\n")
    with pytest.raises(RlgoError, match=f"^{path}: board.size = 4"):
        load_config(path, ["board.size=9"])


def test_values_set_from_python_are_checked_too() -> None:
    with pytest.raises(RlgoError, match=r"^policy.epsilon = 2: expected a number from 0 to 1"):
        PolicyConfig(rule=Policy(epsilon=2))
    with pytest.raises(RlgoError, match=r"^board.size = 3: "):
        dataclasses.replace(BoardConfig(), size=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        BoardConfig().size = 5  # type: ignore[misc]


def test_a_shipped_config_does_not_stand_in_unsaid(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config("quick") == load_config("configs/quick.toml")
    assert capsys.readouterr().err == "configs/quick.toml is not here: the one that ships with rlgo is used\n"
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "quick.toml").write_text("[run]\ngames = 12\n")
    assert load_config("configs/quick.toml").run.games == 12
    assert capsys.readouterr().err == ""


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RlgoError, match=r"binary.toml: expected a TOML file in UTF-8"):
        load_config(binary)
    with pytest.raises(RlgoError, match=r"no such config file; shipped configs: .*quick"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(RlgoError, match=r"/dev/null: expected a config file, found a device or a pipe"):
        load_config("/dev/null")
    with pytest.raises(RlgoError, match=r"^'': expected a config file, found a folder"):
        load_config("")
    with pytest.raises(RlgoError, match=r"expected a config file, found a folder"):
        load_config(tmp_path)
    with pytest.raises(RlgoError, match=r"did you mean quick\?"):
        load_config("quik")


# ---------------------------------------------------------------------------------------------
# Writing and reading back
# ---------------------------------------------------------------------------------------------

FINITE = {"allow_nan": False, "allow_infinity": False}
POSITIVE = st.floats(0, exclude_min=True, **FINITE)
PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1)

CONFIGS = st.builds(
    Config,
    run=st.builds(
        RunConfig,
        name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]*", fullmatch=True),
        seed=st.integers(0, 2**63 - 1),
        games=st.integers(1, 10**12),
        out=PRINTABLE,
        log_every=st.integers(1, 10**12),
        eval_every=st.integers(0, 10**12),
        eval_games=st.integers(1, 5 * 10**6).map(lambda pairs: 2 * pairs),
        gnugo_games=st.integers(0, 5 * 10**6).map(lambda pairs: 2 * pairs),
        gnugo_every=st.integers(0, 10**12),
    ),
    board=st.builds(BoardConfig, size=st.integers(5, 19), komi=st.floats(-10_000, 10_000)),
    features=st.builds(
        FeaturesConfig,
        sizes=st.sets(st.integers(1, 3), min_size=1).map(sorted),
        windows=st.lists(st.sampled_from(["plus", "stones 3x2", "atari 2x2", "liberties .x/xx"])),
        sharing=st.sampled_from(["LI+LD", "LI", "LD", "inversion", "none"]),
    ),
    learning=st.builds(
        LearningConfig,
        rule=st.builds(
            Learning,
            alpha=POSITIVE,
            schedule=st.sampled_from(list(STEP_SCHEDULES)),
            alpha_final=POSITIVE,
            alpha_half=POSITIVE,
            games=st.just(Learning().games),  # no key
            lambda_=st.floats(0, 1),
            averaging=POSITIVE,
            plies=st.sampled_from([1, 2]),
            value=st.sampled_from(list(VALUES)),
            update=st.sampled_from(list(UPDATES)),
            normalise=st.sampled_from(list(NORMALISATIONS)),
        ),
    ),
    policy=st.builds(
        PolicyConfig,
        rule=st.builds(Policy, kind=st.sampled_from(list(POLICIES)), epsilon=st.floats(0, 1), temperature=POSITIVE),
        max_moves=st.integers(0, 1_444),
    ),
)


@pytest.mark.slow
@given(CONFIGS)
def test_to_toml_reads_back_as_the_same_config(config: Config) -> None:
    assert config_from_dict(tomllib.loads(to_toml(config))) == config


@given(CONFIGS, CONFIGS)
def test_overrides_make_one_config_of_another(base: Config, config: Config) -> None:
    needed = overrides(base, config)
    tables: dict[str, Any] = {}
    for text in needed:
        for section, values in parse_override(text).items():
            tables.setdefault(section, {}).update(values)
    assert change(base, tables, "--set") == config
    before, after = flat(base), flat(config)
    assert [text.partition("=")[0] for text in needed] == [key for key in after if after[key] != before[key]]
    assert overrides(config, config) == []


def test_to_toml_writes_every_key() -> None:
    data = tomllib.loads(to_toml(Config()))
    expected = {name: set(cls.all_keys()) for name, cls in SECTIONS.items()}
    assert {section: set(values) for section, values in data.items()} == expected


# ---------------------------------------------------------------------------------------------
# What ships
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["default", "paper", "quick", "ten_million", "hundred_million", "liberties", "13x13", "19x19"]
)
def test_shipped_configs_load_by_name_and_by_path(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    assert name in list_configs()
    monkeypatch.chdir(tmp_path)
    config = load_config(name)
    assert config.run.name == name
    assert load_config(f"{name}.toml") == load_config(f"configs/{name}.toml") == config


def test_every_shipped_config_loads_and_says_its_purpose_and_budget() -> None:
    for name in list_configs():
        load_config(name)
        head = config_path(name).read_text("utf-8").partition("\n[")[0]
        assert head.startswith("# "), name
        assert "# Budget: " in head, name


@pytest.mark.parametrize("name", [name for name in list_configs() if name != "paper"])
def test_shipped_configs_hold_only_what_differs_from_the_defaults(name: str) -> None:
    for section, values in tomllib.loads(config_path(name).read_text("utf-8")).items():
        for key, value in values.items():
            assert value != SECTIONS[section].all_keys()[key].default, f"{section}.{key}"


def test_default_is_the_default_setting() -> None:
    config = load_config("default")
    assert config == Config(run=RunConfig(name="default"))
    assert config.run.games == 1_000_000


def test_paper_is_the_papers_setting() -> None:
    config = load_config("paper")
    assert config.learning.rule == Learning(0.1, averaging=config.learning.rule.averaging)
    assert config.learning.output == "last"
    assert config.policy.rule == Policy(epsilon=0.1)
    assert (config.run.games, config.board.size, config.board.komi) == (1_000_000, 9, 7.5)
    assert (config.features.sizes, config.features.sharing) == ((1, 2, 3), "LI+LD")


def test_a_file_goes_before_a_shipped_config(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.toml").write_text("[run]\nname = 'mine'\n", "utf-8")
    assert load_config("quick.toml").run.name == "mine"
    assert load_config("quick").run.name == "quick"


def test_shipped_folders_are_found() -> None:
    assert checkpoints_dir().is_dir()
    assert config_path("quick").samefile(ROOT / "configs" / "quick.toml")


@pytest.mark.parametrize(
    "cls", [*SECTIONS.values(), SweepConfig, ExperimentConfig, SeriesConfig, StatedConfig, TournamentConfig]
)
def test_every_key_has_a_meaning_and_a_default_that_is_allowed(cls: Any) -> None:
    for key, setting in cls.all_keys().items():
        assert setting.key.meaning[-1] in ".)", key
        assert setting.default is not None, key
    if cls not in (SeriesConfig, StatedConfig):  # which have to be given a label, a place and numbers
        assert cls().values() == {key: setting.default for key, setting in cls.all_keys().items()}


def test_defaults_are_those_of_the_algorithms() -> None:
    assert (Config().learning.rule, Config().policy.rule, Config().run.games) == (
        Learning(),
        Policy(),
        Learning().games,
    )
    assert {sharing: FeaturesConfig(sharing=sharing).sharing for sharing in SHARINGS} == {s: s for s in SHARINGS}  # type: ignore[arg-type]


def test_counts_may_be_written_as_floats(write: Any) -> None:
    config = load_config(write("[run]\ngames = 1e6\nlog_every = 20_000"), ["run.eval_games=1e3", "run.merge_every=1_0"])
    assert (config.run.games, config.run.log_every, config.run.eval_games, config.run.merge_every) == (
        1_000_000, 20_000, 1_000, 10
    )  # fmt: skip
    assert type(config.run.games) is int


@pytest.mark.parametrize("path", [r"C:\Users\me", r"C:\dev"])
def test_a_path_of_windows_in_double_quotes(path: str, tmp_path: Path) -> None:
    config = tmp_path / "bad.toml"
    config.write_text(f'[run]\nout = "{path}"\n')
    with pytest.raises(RlgoError, match=r"bad\.toml: not valid TOML: .*; write \\ in double quotes as / or \\\\$"):
        load_config(config)


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000])
def test_values_that_toml_cannot_read(value: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(f"[run]\ngames = {value}\n")
    with pytest.raises(RlgoError, match=r"bad\.toml: not valid TOML: "):
        load_config(path)
    with pytest.raises(RlgoError, match=r"run\.games = "):
        load_config("quick", [f"run.games={value}"])
