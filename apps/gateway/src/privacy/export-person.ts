import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { idOf, listOperation } from '../api/list-operation'
import { text } from '../validation/fields'
import { ExportedLead, exportedLead } from './export-lead'

const PersonQuery = Type.Partial(
  Type.Object({
    email: text("The person's e-mail address, in any spelling.", 'ada@example.com', {
      format: 'email',
    }),
    phone: text("The person's telephone number, as one would write or dial it.", '020 7946 0123', {
      format: 'phone',
    }),
  }),
)

const ONE_OF_BOTH = 'Give either the email or the phone of the person.'

export const exportPerson = listOperation({
  route: 'GET /manage/persons/export',
  operationId: 'exportPerson',
  tag: 'Privacy',
  summary: 'Export all that is held of a person',
  description:
    'Every lead of the account whose customer has this `email`, or this `phone` as a telephone or mobile number, also with an extension or beside other numbers. Newest first, at most 20 in an answer. The `next_cursor` of an answer asks for those that follow.',
  filters: PersonQuery,
  record: ExportedLead,
  cursor: { description: 'The `next_cursor` of the answer before. Without it the newest leads come.' },
  answer: 'Leads and all that belongs to them.',
  find: async (call, { email, phone }, cursor) => {
    const { clients, accountId, limits } = call
    if ((email === undefined) === (phone === undefined)) throw ServiceError.invalid({ email: [ONE_OF_BOTH] })
    const asked = { accountId, email, phone, before: idOf(cursor) }
    const { references, nextBefore } = await clients.leads.findPersonLeads(asked, limits)
    const leads: string[] = []
    // One after the other: each may have megabytes.
    for (const reference of references) leads.push(await exportedLead(call, reference))
    return { items: `[${leads.join()}]`, next: nextBefore }
  },
})
