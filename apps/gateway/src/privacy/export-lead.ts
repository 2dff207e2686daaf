import { type Delivery, type ExportedEvent, Image, ManagedLead } from '@leadwire/contracts'
import { isUnimplemented, ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { listOperation } from '../api/list-operation'
import { type Call, operation } from '../api/operation'
import { recordOf } from '../api/record'
import { dataOf, described, named, timestamp } from '../api/schemas'
import { AttemptRecord, attemptRecord, DELIVERY_FIELDS, deliveryRecord } from '../deliveries/deliveries'
import { LeadHistoryEntry } from '../leads/leads'
import { ScheduledRecord } from '../scheduling/schedule'
import { idOf } from '../validation/cursor'
import { describe, partial, text } from '../validation/fields'

const { endpoint_id: _, event: __, ...notificationFields } = DELIVERY_FIELDS

const exportedEvent = (title: string, body: string, delivery: object) =>
  named(title, {
    id: Type.String({ format: 'uuid' }),
    created_at: timestamp('When it was stored.'),
    body: Type.Unknown({ description: body }),
    deliveries: Type.Array(named(`${title}Delivery`, { ...delivery, attempts: Type.Array(AttemptRecord) })),
  })

const ExportedLead = described('ExportedLead', 'All that is held of a lead.', {
  lead: ManagedLead,
  history: Type.Array(LeadHistoryEntry),
  appointments: Type.Array(ScheduledRecord),
  callbacks: Type.Array(ScheduledRecord),
  attachments: Type.Array(Image, { description: 'The files are at their urls.' }),
  webhooks: Type.Array(
    exportedEvent(
      'ExportedWebhook',
      'What is sent. Null where it was erased, where no endpoint subscribed to it, or where there would be too much of it.',
      DELIVERY_FIELDS,
    ),
  ),
  notifications: Type.Array(
    exportedEvent('ExportedNotification', 'What the message is made of; null likewise.', notificationFields),
  ),
  complete: Type.Boolean(
    describe(
      'Whether that is all. Otherwise each list has its newest records; the lists of a lead have the others.',
      true,
    ),
  ),
})

/** Each response of a list has up to 100 records. */
const MAX_RESPONSES = 10

type Find = (before: number | undefined) => Promise<{ items: Uint8Array; nextBefore?: number | undefined }>

/** The newest records of a list as a JSON array, and whether these are all. */
const readList = async (find: Find) => {
  const records: string[] = []
  let before: number | undefined
  for (let responses = 0; responses < MAX_RESPONSES; responses += 1) {
    const { items, nextBefore } = await find(before)
    records.push(Buffer.from(items).toString().slice(1, -1))
    before = nextBefore
    if (before === undefined) break
  }
  return { json: `[${records.filter(Boolean).join()}]`, complete: before === undefined }
}

const eventJson = (event: ExportedEvent, recordOf: (delivery: Delivery) => object): string => {
  const { id, createdAt: created_at, body } = event
  const deliveries = event.deliveries.map(({ delivery, attempts }) => ({
    ...recordOf(delivery!),
    attempts: attempts.map(attemptRecord),
  }))
  // The body is JSON already.
  const head = JSON.stringify({ id, created_at }).slice(0, -1)
  return `${head},"body":${body || 'null'},"deliveries":${JSON.stringify(deliveries)}}`
}

const notificationRecord = recordOf(Type.Object(notificationFields))

/** All that is held of a lead, as JSON. Throws not_found. */
const exportedLead = async (
  { accountId, clients, limits, dependencies, request }: Call<unknown>,
  reference: string,
): Promise<string> => {
  const key = { accountId, reference }
  const { body } = await clients.leads.retrieveManagedLead(key, limits).catch((error: Error) => {
    if (isUnimplemented(error)) return clients.retrieveLead(key, limits)
    throw error
  })
  const baseUrl = dependencies.addressOf(request)
  const lists = await Promise.all([
    readList((before) => clients.leads.listLeadHistory({ ...key, before }, limits)),
    readList((before) => clients.leads.listAppointments({ ...key, before }, limits)),
    readList((before) => clients.leads.listCallbacks({ ...key, before }, limits)),
    readList((before) => clients.attachments.listAttachments({ ...key, before, baseUrl }, limits)),
  ])
  const [history, appointments, callbacks, attachments] = lists.map(({ json }) => json)
  const events = await clients.webhooks.exportLeadEvents({ accountId, leadReference: reference }, limits)
  const fields = {
    lead: Buffer.from(body).toString().slice('{"data":'.length, -1),
    ...{ history, appointments, callbacks, attachments },
    webhooks: `[${events.webhooks.map((event) => eventJson(event, deliveryRecord)).join()}]`,
    notifications: `[${events.notifications.map((event) => eventJson(event, notificationRecord)).join()}]`,
    complete: events.complete && lists.every(({ complete }) => complete),
  }
  return `{${Object.entries(fields).map(([name, json]) => `"${name}":${json}`)}}`
}

export const exportLead = operation({
  route: 'GET /manage/leads/:reference/export',
  tag: 'Privacy',
  summary: 'Export all that is held of a lead',
  description:
    'At most 1000 records of its history, appointments, callbacks and attachments each, 100 events of each kind with 500 deliveries, and 8 MB of their bodies.',
  answer: dataOf(ExportedLead, 'The lead and all that belongs to it.'),
  handler: async (call) => `{"data":${await exportedLead(call, call.leadKey().reference)}}`,
})

const PersonQuery = partial({
  email: text("The person's e-mail address, in any spelling.", 'ada@example.com', {
    format: 'email',
  }),
  phone: text("The person's telephone number, as one would write or dial it.", '020 7946 0123', {
    format: 'phone',
  }),
})

export const exportPerson = listOperation({
  route: 'GET /manage/persons/export',
  tag: 'Privacy',
  summary: 'Export all that is held of a person',
  description:
    'Every lead of the account whose customer has this `email`, or this `phone` as a telephone or mobile number, also with an extension or beside other numbers. Newest first, at most 20 in an answer. The `next_cursor` of an answer asks for those that follow.',
  filters: PersonQuery,
  record: ExportedLead,
  cursor: 'The `next_cursor` of the answer before. Without it the newest leads come.',
  answer: 'Leads and all that belongs to them.',
  find: async (call, { email, phone }, cursor) => {
    const { clients, accountId, limits } = call
    if ((email === undefined) === (phone === undefined))
      throw ServiceError.invalid({ email: ['Give either the email or the phone of the person.'] })
    const asked = { accountId, email, phone, before: idOf(cursor) }
    const { references, nextBefore } = await clients.leads.findPersonLeads(asked, limits)
    const leads: string[] = []
    // One after the other: each may have megabytes.
    for (const reference of references) leads.push(await exportedLead(call, reference))
    return { items: `[${leads.join()}]`, nextBefore }
  },
})
