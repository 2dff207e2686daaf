import { api, leadsApi, readData, type Schemas, type Scope } from '../api'
import { type Delivery, listDeliveries } from '../deliveries'
import { type Endpoint, listEndpoints } from '../endpoints'
import { isErased, type Lead } from '../leads'
import { type AssignedUser, listUsers, type User } from '../users'

export type Scheduled = Schemas['ScheduledRecord']
export type Attachment = Schemas['Image']
export type HistoryEntry = Schemas['LeadHistoryEntry']
export type Suspect = Schemas['LeadSuspect']
export type Erasure = Schemas['Erasure']

/** The webhooks about a lead. */
export interface LeadWebhooks {
  deliveries: Delivery[]
  endpoints: Endpoint[]
}

export interface ShownLead {
  lead: Lead
  managedLead: Schemas['ManagedLead']
  suspects: Suspect[]
  history: HistoryEntry[]
  appointments: Scheduled[]
  callbacks: Scheduled[]
  attachments: Attachment[]
  /** Whether the user may change the lead. False for an erased lead. */
  canChange: boolean
  /** The users of the account. Absent if the user may not list users. */
  users?: User[]
  /** Absent if the user may not read deliveries. */
  webhooks?: LeadWebhooks
  /** Present if the lead was erased and the user may read receipts. */
  erasure?: Erasure
}

const retrieveErasure = async (reference: string, signal: AbortSignal): Promise<Erasure> =>
  (
    await readData(
      api().GET('/manage/leads/{reference}/erasure', { params: { path: { reference } }, signal }),
    )
  ).data

const loadWebhooks = async (reference: string, signal: AbortSignal): Promise<LeadWebhooks> => {
  const [{ data: deliveries }, endpoints] = await Promise.all([
    listDeliveries({ lead_reference: reference }, signal),
    listEndpoints(signal),
  ])
  return { deliveries, endpoints }
}

/** Loads a lead with all lists that the user may read. Each list has at most its newest 100 entries. */
export const loadLead = async (
  reference: string,
  scopes: Set<Scope>,
  signal: AbortSignal,
): Promise<ShownLead> => {
  const options = { params: { path: { reference } }, signal }
  const lead = await leadsApi().retrieve(reference, { signal })
  const mayReadWebhooks = scopes.has('webhooks') || scopes.has('manage:read')
  const mayReadReceipt = isErased(lead) && scopes.has('manage:read')
  const [managedLead, suspects, history, appointments, callbacks, attachments, users, webhooks, erasure] =
    await Promise.all([
      readData(api().GET('/manage/leads/{reference}', options)),
      readData(api().GET('/manage/leads/{reference}/duplicates', options)),
      readData(api().GET('/manage/leads/{reference}/history', options)),
      readData(api().GET('/leads/{reference}/appointments', options)),
      readData(api().GET('/leads/{reference}/callbacks', options)),
      readData(api().GET('/leads/{reference}/attachments', options)),
      scopes.has('users:read') ? listUsers(signal) : undefined,
      mayReadWebhooks ? loadWebhooks(reference, signal) : undefined,
      mayReadReceipt ? retrieveErasure(reference, signal) : undefined,
    ])
  return {
    lead,
    managedLead: managedLead.data,
    suspects: suspects.data,
    history: history.data,
    appointments: appointments.data,
    callbacks: callbacks.data,
    attachments: attachments.data,
    canChange: scopes.has('leads') && !isErased(lead),
    users,
    webhooks,
    erasure,
  }
}

/**
 * Returns the user in the latest assignment of the history. Returns null if the latest assignment removed the
 * user, and undefined if the history has no assignment.
 */
export const findAssignedUser = (history: HistoryEntry[]): AssignedUser | null | undefined =>
  history.flatMap(({ changes }) => changes).find(({ field }) => field === 'user')?.to as
    | AssignedUser
    | null
    | undefined
