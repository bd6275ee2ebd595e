"""A typed client of the service: one method per verb, whose arguments are those of the OpenAPI document.

    client = Client("https://loadhost:8448", certificate="certificate.pem")
    job = client.wait(client.run(target="lab", load={"virtual_users": 8})["job_id"])
    print(client.get_result(job["job_id"])["result"]["metric_value"])

It needs nothing beyond Python's standard library, and no database, driver or workspace.
"""

from hdbkit.client.client import Client, RequestFailed

__all__ = ["Client", "RequestFailed"]
