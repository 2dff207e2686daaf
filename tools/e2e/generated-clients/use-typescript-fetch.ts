// Creates, lists and retrieves a lead, attaches a file and downloads it, with the client of
// openapi-generator.
import { AttachmentsApi, Configuration, LeadsApi } from './out/typescript-fetch/index'
import { encodeText, report, settings } from './settings'

const configuration = new Configuration({ basePath: settings.baseUrl, accessToken: settings.token })
const leads = new LeadsApi(configuration)
const attachments = new AttachmentsApi(configuration)

const { data: created } = await leads.createLead({
  createLeadRequest: {
    name: 'Bay window',
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ada@example.com',
    phone: '020 7946 0123',
    postcode: 'SW1A 1AA',
    referrer: 'Website',
    status: 'open',
  },
})
const { reference } = created
const page = await leads.listLeads()
const { data: lead } = await leads.retrieveLead({ reference })
const file = new File([encodeText('notes')], 'notes.txt')
const { data: attached } = await attachments.attachFile({ reference, name: 'Notes', file })
const downloaded = await attachments.downloadAttachment({ reference, id: attached.id })
report({
  listed: page.data.map((each) => each.reference),
  email: lead.customer.email,
  file: await downloaded.text(),
})
