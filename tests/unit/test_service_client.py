"""The client's types and methods are those of the OpenAPI document, and it works against a service."""

from __future__ import annotations

import inspect
import re
from typing import Any, get_args, is_typeddict

import pytest

from hdbkit.api import Workspace
from hdbkit.client import Client, RequestFailed, models
from hdbkit.errors import InputError
from hdbkit.service.app import make_app
from hdbkit.service.jobs import Jobs
from tests.unit.services import Service

_WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
AGAIN = "run: make client"


@pytest.fixture
def document(place: Workspace) -> dict[str, Any]:
    found: dict[str, Any] = make_app(Jobs(place), place).openapi()
    return found


def test_the_types_are_those_of_the_document(document: dict[str, Any]) -> None:
    components = document["components"]["schemas"]
    for name, schema in components.items():
        made = getattr(models, name, None)
        assert made is not None, f"{name} is missing; {AGAIN}"
        if "enum" in schema:
            assert list(get_args(made)) == schema["enum"], f"{name}; {AGAIN}"
            continue
        assert is_typeddict(made)
        declared = {key: getattr(text, "__forward_arg__", text) for key, text in made.__annotations__.items()}
        required = {key for key, text in declared.items() if not text.startswith("NotRequired")}
        assert required == set(schema.get("required", ())), f"{name}; {AGAIN}"
        expected = {key: _words(one) for key, one in schema.get("properties", {}).items()}
        found = {key: {_plain(one) for one in re.findall(r"\w+", text)} for key, text in declared.items()}
        found = {key: words - {"NotRequired", "Any"} for key, words in found.items()}
        inner = {key for key, words in found.items() if any(hasattr(models, one) for one in words - set(components))}
        assert {key: found[key] for key in found.keys() - inner} == {
            key: expected[key] for key in expected.keys() - inner
        }, f"{name}; {AGAIN}"
        assert found.keys() == expected.keys(), f"{name}; {AGAIN}"


def _plain(word: str) -> str:
    """A word of a type, or the plain type that it is another name of."""
    named = getattr(models, word, None)
    return named.__name__ if named in (int, str, float, bool) else word


def _words(schema: dict[str, Any]) -> set[str]:
    """The names that a type of this schema has in Python."""
    if "$ref" in schema:
        return {schema["$ref"].rpartition("/")[2]}
    if "enum" in schema:
        return {"Literal", *schema["enum"]}
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    found = {_WORDS[kind] for kind in kinds if kind in _WORDS}
    if "array" in kinds:
        found |= {"list"} | _words(schema.get("items", {}))
    if "object" in kinds:
        more = schema.get("additionalProperties")
        found |= {"dict", "str"} | (_words(more) if isinstance(more, dict) else set())
    return found.union(*(_words(one) for one in schema.get("anyOf", ())))


def test_each_operation_of_the_document_is_a_method(document: dict[str, Any]) -> None:
    operations = {
        one["operationId"].removeprefix("start_"): one
        for path in document["paths"].values()
        for one in path.values()
        if one["operationId"] != "health"
    }
    methods = {name: one for name, one in vars(Client).items() if not name.startswith("_") and name != "wait"}
    assert set(methods) == set(operations)
    for name, operation in operations.items():
        arguments = inspect.signature(methods[name]).parameters
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]["application/json"]["schema"]
            assert arguments["request"].annotation == f"Unpack[models.{content['$ref'].rpartition('/')[2]}]"
            assert inspect.getdoc(methods[name]) == operation["summary"]
        else:
            named = {one["name"] for one in operation.get("parameters", ())}
            assert set(arguments) - {"self"} == named


def test_a_client_starts_a_job_waits_for_it_and_reads_what_it_returned(service: Service) -> None:
    client = Client(f"http://127.0.0.1:{service.clients['read'].port}", service.clients["read"].token)
    job = client.wait(client.engines()["job_id"])
    assert job["state"] == "done"
    assert client.get_result(job["job_id"])["engines"]
    assert [one["job_id"] for one in client.list_jobs("engines", state="done")["jobs"]] == [job["job_id"]]
    assert [one["name"] for one in client.list_targets()["targets"]] == ["lab", "other", "broken"]


def test_a_client_raises_what_the_service_answered(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"http://127.0.0.1:{service.clients['settings'].port}"
    client = Client(address, service.clients["settings"].token)
    with pytest.raises(RequestFailed, match=r"load.virtual_users: must be 1 or more, not 0") as failed:
        client.run(target="lab", load={"virtual_users": 0})
    assert failed.value.status == 422
    assert failed.value.problems == [{"where": "load.virtual_users", "what": "must be 1 or more, not 0"}]
    with pytest.raises(RequestFailed, match="there is no job 'a-b'"):
        client.get_job("a-b")
    with pytest.raises(RequestFailed, match="a valid token is needed") as failed:
        Client(address, "x" * 43).list_targets()
    assert failed.value.status == 401
    with pytest.raises(RequestFailed, match=r"http://127.0.0.1:1 cannot be reached"):
        Client("http://127.0.0.1:1", "x").list_targets()
    monkeypatch.delenv("HDBKIT_SERVICE_TOKEN", raising=False)
    with pytest.raises(InputError, match="no token is given; set HDBKIT_SERVICE_TOKEN"):
        Client(address)
    for wrong in ("localhost:8448", "https://me:secret@host", "https://host/api"):
        with pytest.raises(InputError, match="the service's address must be such as") as unusable:
            Client(wrong, "x")
        assert "secret" not in str(unusable.value)
