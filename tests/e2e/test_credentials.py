"""A platform admin enters a credential, a person consents in the browser, the call goes on."""

from __future__ import annotations

from typing import Any

import pytest

from contextos.core import strict_json
from tests.e2e.agent import Agent
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import Demo
from tests.gateway.credentials.oauth_server import CLIENT_ID, AuthorizationServer, serving

LIST = "/admin/gateway/adaptercredential/"
READ = "payments.lookup_transaction"


@pytest.mark.proves("C7")
def test_a_call_waits_for_a_person_who_consents_and_takes_it_back(
    sign_in: ArriveAs, demo: Demo
) -> None:
    token = (demo.data_dir / "payments-token").read_text()
    server = AuthorizationServer(
        scopes={"payments.read"},
        redirect_uris={f"{demo.url}/admin/consent/back"},
        answers={"access_token": token},  # the one that the demo's payments server takes
    )
    agent = Agent(demo)
    told: dict[str, Any] = strict_json.loads_object(
        (demo.data_dir.parent / "ready.json").read_text()
    )
    agent.http.headers["X-User-Delegation"] = told["approver_tokens"]["fin1"]
    with serving(server):
        admin = sign_in("admin")
        admin.open(f"{LIST}add/")
        admin.judge_looks("credential-kinds")
        admin.click("a[href='?kind=authorization_code']")
        admin.judge_looks("credential-form")
        page = admin.page
        page.fill("#id_name", "Payments, in the person's name")
        page.select_option("#id_environment", "development")
        page.select_option("#id_adapter_id", "adp_payments_mcp")
        page.select_option("#id_capability_id", READ)
        page.fill("#id_issuer", server.issuer)
        page.fill("#id_token_endpoint", f"{server.address}/token")
        page.fill("#id_authorization_endpoint", f"{server.address}/authorize")
        page.fill("#id_revocation_endpoint", f"{server.address}/revoke")
        page.fill("#id_client_id", CLIENT_ID)
        page.fill("#id_secret", "s3cret")
        admin.click("[name='_save']")
        admin.judge_looks("credentials")
        admin.click("#result_list tr:has-text('in the person') a")
        admin.judge_looks("credential")
        assert "s3cret" not in page.content()

        waiting = agent.call(agent.open_run(), READ, {"transaction_id": "txn_4200"})
        assert waiting["status"] == "paused", waiting
        person = sign_in("fin1")
        assert "Consents you are asked for" in person.page.inner_text("main")
        person.click("a[href*='/admin/consent/csr_']")
        person.judge_looks("consent")
        assert "payments.read" in person.page.inner_text("main")
        person.page.click("text=Continue to 127.0.0.1")
        person.page.wait_for_url("**/admin/consent/csr_*/")
        assert "You gave your consent" in person.page.inner_text("main")
        person.judge_looks("consent-given")
        assert agent.until(waiting["tool_call_id"], "ok", "failed")["status"] == "ok"

        person.open("/admin/gateway/consent/")
        person.judge_looks("consents")
        person.click("#result_list tbody tr a")
        person.click("a:has-text('Take it back')")
        person.page.fill("#id_reason", "Not needed any more.")
        person.press_enter()
        assert server.revoked

        admin.open(LIST)
        admin.click("#result_list tr:has-text('in the person') a")
        admin.click("a:has-text('Rotate the secret')")
        admin.judge_looks("credential-rotate")
        admin.page.go_back()
        admin.click("a:has-text('Revoke')")
        admin.page.fill("#id_reason", "The walk is over.")
        admin.press_enter()
        assert "revoked" in admin.page.inner_text("main")
    again = agent.call(agent.open_run(), READ, {"transaction_id": "txn_4200"})
    assert again["status"] == "ok", again
