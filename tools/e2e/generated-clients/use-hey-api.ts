// Creates, lists and retrieves a lead, attaches a file and downloads it, with the client of
// @hey-api/openapi-ts.
import { attachFile, createLead, downloadAttachment, listLeads, retrieveLead } from './out/hey-api'
import { client } from './out/hey-api/client.gen'
import { EXAMPLE, encodeText, report, settings } from './settings'

client.setConfig({ baseUrl: settings.baseUrl, auth: settings.token })

const throwOnError = true
const { data: created } = await createLead({ body: EXAMPLE, throwOnError })
const { reference } = created.data
const { data: page } = await listLeads({ throwOnError })
const { data: retrieved } = await retrieveLead({ path: { reference }, throwOnError })
const file = new File([encodeText('notes')], 'notes.txt')
const { data: attached } = await attachFile({
  path: { reference },
  body: { name: 'Notes', file },
  throwOnError,
})
const { data: downloaded } = await downloadAttachment({
  path: { reference, id: attached.data.id },
  parseAs: 'text',
  throwOnError,
})
report({
  listed: page.data.map((each) => each.reference),
  email: retrieved.data.customer.email,
  file: String(downloaded),
})
