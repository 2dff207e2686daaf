import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { cursorPageOf } from '../api/schemas'
import { notes, text } from '../validation/fields'
import { ExportedLead } from './export-schema'
import { exportedLead } from './exported-lead'

const PersonQuery = Type.Partial(
  Type.Object({
    email: text("The person's e-mail address, in any spelling.", 'ada@example.com', {
      format: 'email',
    }),
    phone: text("The person's telephone number, as one would write or dial it.", '020 7946 0123', {
      format: 'phone',
    }),
    cursor: Type.String({
      pattern: '^[1-9][0-9]{0,14}$',
      ...notes('The `next_cursor` of the answer before. Without it the newest leads come.'),
    }),
  }),
)

const ONE_OF_BOTH = 'Give either the email or the phone of the person.'

/** GET /manage/persons/export. */
export const exportPerson = operation<typeof PersonQuery>({
  method: 'GET',
  url: '/manage/persons/export',
  operationId: 'exportPerson',
  tag: 'Privacy',
  summary: 'Export all that is held of a person',
  description:
    'Every lead of the account whose customer has this `email`, or this `phone` as a telephone or mobile number, also with an extension or beside other numbers. Newest first, at most 20 in an answer. The `next_cursor` of an answer asks for those that follow.',
  scope: 'manage',
  query: PersonQuery,
  checks: PersonQuery,
  answer: { description: 'Leads and all that belongs to them.', schema: cursorPageOf(ExportedLead) },
  handler: async (call) => {
    const { check, clients, accountId, limits } = call
    const { value, faults } = check()
    if (faults) throw ServiceError.invalid(faults)
    const { email, phone, cursor } = value
    if ((email === undefined) === (phone === undefined)) throw ServiceError.invalid({ email: [ONE_OF_BOTH] })
    const before = cursor === undefined ? undefined : Number(cursor)
    const found = await clients.leads.findPersonLeads({ accountId, email, phone, before }, limits)
    const leads: string[] = []
    // One after the other: each may have megabytes.
    for (const reference of found.references) leads.push(await exportedLead(call, reference))
    const next = found.nextBefore === undefined ? null : String(found.nextBefore)
    return `{"data":[${leads.join(',')}],"next_cursor":${JSON.stringify(next)}}`
  },
})
