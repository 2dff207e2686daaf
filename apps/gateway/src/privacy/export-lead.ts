import { type Delivery, type ExportedEvent, Image } from '@leadwire/contracts'
import { describe, partial, readPlaceId, text } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { listOperation } from '../api/list-operation'
import { type Call, operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import { described, named, recordResponse, timestamp } from '../api/schemas'
import { AttemptRecord, DELIVERY_FIELDS, renderAttempt, renderDelivery } from '../deliveries/deliveries'
import { LeadHistoryEntry } from '../leads/leads'
import { ManagedLead } from '../leads/managed-lead'
import { Note } from '../leads/notes'
import { ScheduledRecord } from '../scheduling/schedule'

const { endpoint_id: _, event: __, ...notificationFields } = DELIVERY_FIELDS

const exportedEvent = (title: string, body: string, delivery: object) =>
  named(title, {
    id: Type.String({ format: 'uuid' }),
    created_at: timestamp('When the event was stored.'),
    body: Type.Unknown({ description: body }),
    deliveries: Type.Array(named(`${title}Delivery`, { ...delivery, attempts: Type.Array(AttemptRecord) })),
  })

const ExportedLead = described('ExportedLead', 'All stored data of a lead.', {
  lead: ManagedLead,
  history: Type.Array(LeadHistoryEntry),
  appointments: Type.Array(ScheduledRecord),
  callbacks: Type.Array(ScheduledRecord),
  notes: Type.Array(Note),
  attachments: Type.Array(Image, { description: 'Attachments. Download each file from its `url`.' }),
  webhooks: Type.Array(
    exportedEvent(
      'ExportedWebhook',
      'The body of the webhook. null if the event was erased, or if the export has reached its size limit.',
      DELIVERY_FIELDS,
    ),
  ),
  notifications: Type.Array(
    exportedEvent(
      'ExportedNotification',
      'The data of the message. null if the export has reached its size limit.',
      notificationFields,
    ),
  ),
  complete: Type.Boolean(
    describe(
      'Whether the export is complete. If false, the lists have only their newest records, or bodies are missing. Read the rest from the other operations of the lead.',
      true,
    ),
  ),
})

/** The maximum number of responses that are read for each list. Each response has at most 100 records. */
const MAX_RESPONSES = 10
/** A list ends with the response in which it exceeds this size, because notes may have megabytes of text. */
const MAX_LIST_BYTES = 8_000_000

type Find = (before: number | undefined) => Promise<{ items: Uint8Array; nextBefore?: number | undefined }>

/** Reads the newest records of a list as a JSON array. `complete` is false if the list has older records. */
const readList = async (find: Find) => {
  const records: string[] = []
  let before: number | undefined
  let bytes = 0
  for (let responses = 0; responses < MAX_RESPONSES && bytes <= MAX_LIST_BYTES; responses += 1) {
    const { items, nextBefore } = await find(before)
    records.push(Buffer.from(items).toString().slice(1, -1))
    bytes += items.length
    before = nextBefore
    if (before === undefined) break
  }
  return { json: `[${records.filter(Boolean).join()}]`, complete: before === undefined }
}

const renderEvent = (event: ExportedEvent, render: (delivery: Delivery) => object): string => {
  const { id, createdAt: created_at, body } = event
  const deliveries = event.deliveries.map(({ delivery, attempts }) => ({
    ...render(delivery!),
    attempts: attempts.map(renderAttempt),
  }))
  // Inserts the body unchanged, because the body is already JSON.
  const head = JSON.stringify({ id, created_at }).slice(0, -1)
  return `${head},"body":${body || 'null'},"deliveries":${JSON.stringify(deliveries)}}`
}

const renderNotification = createRecordRenderer(Type.Object(notificationFields))

/** Returns all stored data of a lead as JSON. Throws `not_found` if the lead does not exist. */
const exportedLead = async (
  { accountId, clients, limits, dependencies }: Call<unknown>,
  reference: string,
): Promise<string> => {
  const key = { accountId, reference }
  const asked = { ...key, isExport: true }
  const { body } = await clients.leads.retrieveManagedLead(asked, limits)
  const { configuredAddress: baseUrl } = dependencies
  const lists = await Promise.all([
    readList((before) => clients.leads.listLeadHistory({ ...key, before }, limits)),
    readList((before) => clients.leads.listAppointments({ ...key, before }, limits)),
    readList((before) => clients.leads.listCallbacks({ ...key, before }, limits)),
    readList((before) => clients.leads.listNotes({ ...key, before }, limits)),
    readList((before) => clients.attachments.listAttachments({ ...key, before, baseUrl }, limits)),
  ])
  const [history, appointments, callbacks, notes, attachments] = lists.map(({ json }) => json)
  const events = await clients.webhooks.exportLeadEvents({ accountId, leadReference: reference }, limits)
  const fields = {
    lead: Buffer.from(body).toString().slice('{"data":'.length, -1),
    history,
    appointments,
    callbacks,
    notes,
    attachments,
    webhooks: `[${events.webhooks.map((event) => renderEvent(event, renderDelivery)).join()}]`,
    notifications: `[${events.notifications.map((event) => renderEvent(event, renderNotification)).join()}]`,
    complete: events.complete && lists.every(({ complete }) => complete),
  }
  return `{${Object.entries(fields).map(([name, json]) => `"${name}":${json}`)}}`
}

export const exportLead = operation({
  route: 'GET /manage/leads/:reference/export',
  scope: 'manage:read',
  tag: 'Privacy',
  summary: 'Export all data of a lead',
  description:
    'Returns at most 1,000 records each of the history, appointments, callbacks, notes and attachments. A list ends earlier if it exceeds 8 MB. Returns at most 100 webhooks and 100 notifications; each of these two lists has at most 500 deliveries and 8 MB of bodies in total. `complete` says whether anything is missing.',
  answer: recordResponse(ExportedLead, 'The lead and all its records.'),
  handler: async (call) => `{"data":${await exportedLead(call, call.leadKey().reference)}}`,
})

const PersonQuery = partial({
  email: text("The person's email address. Case does not matter.", 'ada@example.com', {
    format: 'email',
  }),
  phone: text(
    "The person's telephone number, in any format, such as `020 7946 0123` or `+44 20 7946 0123`.",
    '020 7946 0123',
    { format: 'phone' },
  ),
})

// Refuses a number that starts with a space, because a `+` in a query means a space. A foreign number without
// its plus sign is a different number or no number. A British number is found even without its plus sign.
const refuseLostPlus = ({ phone = '' }: { phone?: string }): void => {
  if (/^\s+(?!44)[1-9]/.test(phone))
    throw ServiceError.invalid({ phone: ['The phone starts with a space. Write a "+" as %2B.'] })
}

export const exportPerson = listOperation({
  route: 'GET /manage/persons/export',
  tag: 'Privacy',
  summary: 'Export all data of a person',
  description:
    'Returns every lead whose customer has this `email`, or this `phone` as a telephone or mobile number, even if the stored field also has an extension or other numbers. Send exactly one of the two parameters. Newest first, up to 20 leads per response. Pass `next_cursor` as `cursor` to get the next leads.',
  filters: PersonQuery,
  record: ExportedLead,
  cursor: 'The `next_cursor` of the previous response. Omit it for the newest leads.',
  answer: 'The leads and all their records.',
  find: async (call, { email, phone }, cursor) => {
    const { clients, accountId, limits } = call
    if ((email === undefined) === (phone === undefined))
      throw ServiceError.invalid({
        email: ['Send either email or phone, not both.'],
      })
    refuseLostPlus(call.request.query as { phone?: string })
    const asked = { accountId, email, phone, before: readPlaceId(cursor) }
    const { references, nextBefore } = await clients.leads.findPersonLeads(asked, limits)
    const leads: string[] = []
    // Exports one lead after the other, because the data of each lead may have megabytes.
    for (const reference of references) leads.push(await exportedLead(call, reference))
    return { items: `[${leads.join()}]`, nextBefore }
  },
})
