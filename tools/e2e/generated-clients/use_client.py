# Creates, lists and retrieves a lead, attaches a file and downloads it, with the client of openapi-generator.
import json
import os

import leadwire_client as leadwire

configuration = leadwire.Configuration(host=os.environ["BASE_URL"], access_token=os.environ["TOKEN"])
with leadwire.ApiClient(configuration) as client:
    leads = leadwire.LeadsApi(client)
    attachments = leadwire.AttachmentsApi(client)
    request = leadwire.CreateLeadRequest(
        name="Bay window",
        first_name="Ada",
        last_name="Lovelace",
        email="ada@example.com",
        phone="020 7946 0123",
        postcode="SW1A 1AA",
        referrer="Website",
        status="open",
    )
    reference = leads.create_lead(request).data.reference
    page = leads.list_leads()
    lead = leads.retrieve_lead(reference).data
    attached = attachments.attach_file(reference, "Notes", ("notes.txt", b"notes")).data
    file = attachments.download_attachment(reference, attached.id)
    print(
        json.dumps(
            {
                "listed": [str(each.reference) for each in page.data],
                "email": lead.customer.email,
                "file": bytes(file).decode(),
            }
        )
    )
