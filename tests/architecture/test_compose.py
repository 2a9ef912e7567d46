"""The container set-up, judged without an engine: safe, complete, and true to the code."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from contextos.env import VARIABLES
from tests.architecture.source import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PINNED = re.compile(r"[a-z0-9./-]+:\d+(\.\d+)+[a-z0-9.-]*")
ROOT_USERS = {"root", "0", "0:0", ""}

each_service = pytest.mark.parametrize("name", SERVICES)
each_of_ours = pytest.mark.parametrize("name", OURS)


def _instructions(word: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [
        line.split(maxsplit=1)[1] for line in joined.splitlines() if line.startswith(f"{word} ")
    ]


def test_every_process_of_the_design_is_there() -> None:
    wanted = {"postgres", "redis", "web", "asgi", "worker", "beat", "otel-collector", "migrate"}
    assert wanted <= set(SERVICES)


@each_service
def test_each_image_is_built_here_or_pinned(name: str) -> None:
    service = SERVICES[name]
    assert "build" in service or PINNED.fullmatch(service["image"]), service.get("image")


@each_service
def test_no_service_runs_as_root_or_with_more_rights_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert str(service.get("user", "")) not in ROOT_USERS
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["read_only"] is True
    assert not service.get("privileged")


@each_service
def test_each_lasting_service_is_watched(name: str) -> None:
    service = SERVICES[name]
    if service["restart"] == "no":
        pytest.skip("runs once and ends")
    check = service["healthcheck"]
    assert check["test"][0] in {"CMD", "CMD-SHELL"}
    assert {"interval", "timeout", "retries"} <= set(check)


@each_service
def test_no_secret_stands_in_the_file(name: str) -> None:
    secret_words = re.compile(r"(?i)password|secret|token|key|database_url|redis_url")
    for variable, value in SERVICES[name].get("environment", {}).items():
        if secret_words.search(variable) and not variable.endswith("_DIR"):  # names a folder
            assert variable.endswith("_FILE"), variable
            assert str(value).startswith("/run/secrets/"), variable
        assert not re.search(r"://[^/]*:[^/]*@", str(value)), variable


@each_service
def test_each_secret_a_service_reads_is_mounted_and_declared(name: str) -> None:
    service = SERVICES[name]
    text = yaml.safe_dump(service)
    read = set(re.findall(r"/run/secrets/([a-z_]+)", text))
    assert read <= set(service.get("secrets", ()))
    assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])


def test_no_variable_has_a_default_that_is_a_secret() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    defaults = re.findall(r"\$\{(\w+):-", text)
    assert set(defaults) <= {"CONTEXTOS_VERSION", "CONTEXTOS_WEB_PORT", "CONTEXTOS_ASGI_PORT"}
    for secret in COMPOSE["secrets"].values():
        assert secret["file"].startswith("${CONTEXTOS_SECRETS_DIR:?")


@each_of_ours
def test_each_variable_is_one_the_product_reads(name: str) -> None:
    known = {variable.name for variable in VARIABLES}
    known |= {f"{variable}_FILE" for variable in known}
    assert set(SERVICES[name]["environment"]) <= known


@each_of_ours
def test_each_command_exists(name: str) -> None:
    service = SERVICES[name]
    entrypoint = service.get("entrypoint")
    if entrypoint is None:
        assert service["command"][0] in get_commands()
        return
    assert entrypoint[:2] == ["celery", "-A"]
    assert import_module(entrypoint[2]).app.main == "contextos"
    assert service["command"][0] in {"worker", "beat"}


@each_service
def test_what_a_service_waits_for_exists(name: str) -> None:
    for other, terms in SERVICES[name].get("depends_on", {}).items():
        ends = SERVICES[other]["restart"] == "no"
        wanted = "service_completed_successfully" if ends else "service_healthy"
        assert terms["condition"] == wanted, other


def test_only_the_web_is_published_and_only_to_this_machine() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(published) == {"web", "asgi"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


@pytest.mark.parametrize("name", ["web", "asgi", "worker"])
def test_an_export_is_fetched_where_it_was_written(name: str) -> None:
    service = SERVICES[name]
    folder = service["environment"]["CONTEXTOS_EXPORTS_DIR"]
    assert f"exports:{folder}" in service["volumes"]
    assert "exports" in COMPOSE["volumes"]
    assert re.search(rf"install -d -o 10001 .*{folder}", DOCKERFILE)  # else root owns the volume


def test_who_checks_the_log_reads_the_checkpoints_and_the_sealer_alone_writes_them() -> None:
    assert SERVICES["sealer"]["environment"]["CONTEXTOS_CHECKPOINTS_DIR"] == "/checkpoints"
    assert "checkpoints:/checkpoints" in SERVICES["sealer"]["volumes"]
    for name in ("web", "worker"):
        assert SERVICES[name]["environment"]["CONTEXTOS_CHECKPOINTS_DIR"] == "/checkpoints"
        assert "checkpoints:/checkpoints:ro" in SERVICES[name]["volumes"]


def test_data_services_have_no_way_out() -> None:
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert SERVICES["postgres"]["networks"] == SERVICES["redis"]["networks"] == ["inside"]


def test_the_collector_reads_a_configuration_that_takes_what_we_send() -> None:
    config = yaml.safe_load((ROOT / "deploy" / "otel-collector.yaml").read_text(encoding="utf-8"))
    endpoint = SERVICES["web"]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"]
    port = config["receivers"]["otlp"]["protocols"]["http"]["endpoint"].rpartition(":")[2]
    assert endpoint == f"http://otel-collector:{port}"
    for pipeline in config["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) <= set(config[kind])
    mounted = SERVICES["otel-collector"]["volumes"][0].split(":")
    assert (ROOT / mounted[0]).is_file()
    assert SERVICES["otel-collector"]["command"] == [f"--config={mounted[1]}"]


def test_the_image_ends_as_an_ordinary_user() -> None:
    assert _instructions("USER")[-1] not in ROOT_USERS
    assert _instructions("USER")[-1] == SERVICES["web"]["user"]


def test_the_image_is_small_pinned_and_hash_checked() -> None:
    bases = _instructions("FROM")
    assert len(bases) == 2  # what builds is not what runs
    assert all(re.match(r"python:3\.11-slim-[a-z]+( AS [a-z]+)?$", base) for base in bases)
    assert not _instructions("ADD")
    assert any("--require-hashes" in line for line in _instructions("RUN"))
    assert any("requirements-runtime.lock" in line for line in _instructions("COPY"))


def test_nothing_the_image_copies_is_missing_or_ignored() -> None:
    sources = [line.split()[0] for line in _instructions("COPY") if "--from" not in line]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored or f"!{source}/" in ignored, source


def test_no_secret_is_baked_into_the_image() -> None:
    for line in _instructions("ENV") + _instructions("ARG"):
        assert not re.search(r"(?i)secret|password|token|_url", line)


def test_the_image_runs_a_command_that_exists() -> None:
    assert _instructions("ENTRYPOINT") == ['["python", "manage.py"]']
    assert '"serve"' in _instructions("CMD")[-1]
    assert "/healthz" in _instructions("HEALTHCHECK")[0]


@pytest.mark.parametrize("tool", ["pytest", "ruff", "mypy", "playwright", "uv", "django-stubs"])
def test_no_development_tool_is_in_the_runtime_lock(tool: str) -> None:
    lock = (ROOT / "requirements-runtime.lock").read_text(encoding="utf-8")
    assert not re.search(rf"^{tool}==", lock, flags=re.MULTILINE)


def test_both_locks_name_the_same_versions() -> None:
    def pins(name: str) -> set[str]:
        text = (ROOT / name).read_text(encoding="utf-8")
        return set(re.findall(r"^([a-z0-9][a-z0-9._-]*==[^ ]+)", text, flags=re.MULTILINE))

    runtime = pins("requirements-runtime.lock")
    assert runtime
    assert runtime <= pins("requirements.lock")
