import type { Attempt, Delivery, ExportedEvent } from '@leadwire/contracts'
import type { Call } from '../api/operation'
import { attemptRecord, deliveryRecord } from '../deliveries/delivery-schema'

/** Each response of a list has up to 100 records. */
const MAX_RESPONSES = 10

interface Listed {
  items: Uint8Array
  nextBefore?: number | undefined
}

type Find = (asked: { accountId: number; reference: string; before: number | undefined }) => Promise<Listed>

const DATA = '{"data":'

/** The newest records of a list as a JSON array, and whether these are all. */
const readList = async (find: Find, lead: { accountId: number; reference: string }) => {
  const records: string[] = []
  let before: number | undefined
  let responses = 0
  do {
    const { items, nextBefore } = await find({ ...lead, before })
    const text = Buffer.from(items).toString().slice(1, -1)
    if (text !== '') records.push(text)
    before = nextBefore
    responses += 1
  } while (before !== undefined && responses < MAX_RESPONSES)
  return { json: `[${records.join(',')}]`, complete: before === undefined }
}

const eventJson = (event: ExportedEvent, recordOf: (delivery: Delivery) => object): string => {
  const { id, createdAt: created_at, body } = event
  const deliveries = event.deliveries.map(({ delivery, attempts }) => ({
    ...recordOf(delivery!),
    attempts: attempts.map((attempt: Attempt) => attemptRecord(attempt)),
  }))
  // The body is JSON already.
  const head = JSON.stringify({ id, created_at }).slice(0, -1)
  return `${head},"body":${body || 'null'},"deliveries":${JSON.stringify(deliveries)}}`
}

const notificationRecord = (delivery: Delivery) => {
  const { endpoint_id: _, event: __, ...record } = deliveryRecord(delivery)
  return record
}

/** All that is held of a lead, as JSON. Throws not_found. */
export const exportedLead = async (
  { accountId, clients, limits, addressOf, request }: Call<unknown>,
  reference: string,
): Promise<string> => {
  const key = { accountId, reference }
  const { body } = await clients.retrieveLead(key, limits)
  const baseUrl = addressOf(request)
  const lists = await Promise.all([
    readList((asked) => clients.leads.listLeadHistory(asked, limits), key),
    readList((asked) => clients.leads.listAppointments(asked, limits), key),
    readList((asked) => clients.leads.listCallbacks(asked, limits), key),
    readList((asked) => clients.attachments.listAttachments({ ...asked, baseUrl }, limits), key),
  ])
  const [history, appointments, callbacks, attachments] = lists.map(({ json }) => json)
  const events = await clients.webhooks.exportLeadEvents({ accountId, leadReference: reference }, limits)
  const webhooks = events.webhooks.map((event) => eventJson(event, deliveryRecord))
  const notifications = events.notifications.map((event) => eventJson(event, notificationRecord))
  const fields = {
    lead: Buffer.from(body).toString().slice(DATA.length, -1),
    ...{ history, appointments, callbacks, attachments },
    webhooks: `[${webhooks.join(',')}]`,
    notifications: `[${notifications.join(',')}]`,
    complete: String(events.complete && lists.every(({ complete }) => complete)),
  }
  return `{${Object.entries(fields)
    .map(([name, json]) => `"${name}":${json}`)
    .join(',')}}`
}
