// Creates, lists and retrieves a lead, attaches a file and downloads it, with the types of
// openapi-typescript.
import createClient from 'openapi-fetch'
import type { paths } from './out/openapi-typescript/schema'
import { EXAMPLE, encodeText, report, settings } from './settings'

const { baseUrl, token } = settings
const api = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })

const good = <T>({ data, error }: { data?: T; error?: unknown }): T => {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

const { reference } = good(await api.POST('/leads', { body: EXAMPLE })).data
const page = good(await api.GET('/leads'))
const { data: lead } = good(await api.GET('/leads/{reference}', { params: { path: { reference } } }))
const form = new FormData()
form.set('name', 'Notes')
form.set('file', new File([encodeText('notes')], 'notes.txt'))
const { data: attachment } = good(
  await api.POST('/leads/{reference}/attachments', {
    params: { path: { reference } },
    body: form as never,
    bodySerializer: (body) => body as never,
  }),
)
const file = good(
  await api.GET('/leads/{reference}/attachments/{id}', {
    params: { path: { reference, id: attachment.id } },
    parseAs: 'text',
  }),
)
report({ listed: page.data.map((each) => each.reference), email: lead.customer.email, file })
