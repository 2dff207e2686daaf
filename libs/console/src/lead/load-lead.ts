import { api, leadsApi, readData, type Schemas, type Scope } from '../api'
import { type Delivery, listDeliveries } from '../deliveries'
import { type Endpoint, listEndpoints } from '../endpoints'
import { isErased, type Lead } from '../leads'
import { listUsers, type User } from '../users'

export type Scheduled = Schemas['ScheduledRecord']
export type Attachment = Schemas['Image']
export type HistoryEntry = Schemas['LeadHistoryEntry']
export type Suspect = Schemas['LeadSuspect']
export type Erasure = Schemas['Erasure']

/** The data that only a token with the scope `manage:read` gets. */
interface Managed {
  lead: Schemas['ManagedLead']
  suspects: Suspect[]
  users: User[]
  history: HistoryEntry[]
  deliveries: Delivery[]
  endpoints: Endpoint[]
  erasure?: Erasure
}

export interface ShownLead {
  lead: Lead
  appointments: Scheduled[]
  callbacks: Scheduled[]
  attachments: Attachment[]
  /** Whether the token may change the lead. False for an erased lead. */
  canChange: boolean
  managed?: Managed
}

const retrieveErasure = async (reference: string, signal?: AbortSignal): Promise<Erasure> =>
  (
    await readData(
      api().GET('/manage/leads/{reference}/erasure', { params: { path: { reference } }, signal }),
    )
  ).data

const loadManaged = async (lead: Lead, signal: AbortSignal): Promise<Managed> => {
  const { reference } = lead
  const [managedLead, suspects, users, history, deliveries, endpoints, erasure] = await Promise.all([
    readData(api().GET('/manage/leads/{reference}', { params: { path: { reference } }, signal })),
    readData(api().GET('/manage/leads/{reference}/duplicates', { params: { path: { reference } }, signal })),
    listUsers(signal),
    readData(api().GET('/manage/leads/{reference}/history', { params: { path: { reference } }, signal })),
    listDeliveries({ lead_reference: reference }, signal),
    listEndpoints(signal),
    isErased(lead) ? retrieveErasure(reference, signal) : undefined,
  ])
  return {
    lead: managedLead.data,
    suspects: suspects.data,
    users,
    history: history.data,
    deliveries: deliveries.data,
    endpoints,
    erasure,
  }
}

/** Loads a lead with all lists that the token may read. Each list has at most its newest 100 entries. */
export const loadLead = async (
  reference: string,
  scopes: Set<Scope>,
  signal: AbortSignal,
): Promise<ShownLead> => {
  const options = { params: { path: { reference } }, signal }
  const lead = await leadsApi().retrieve(reference, { signal })
  const [appointments, callbacks, attachments, managed] = await Promise.all([
    readData(api().GET('/leads/{reference}/appointments', options)),
    readData(api().GET('/leads/{reference}/callbacks', options)),
    readData(api().GET('/leads/{reference}/attachments', options)),
    scopes.has('manage:read') ? loadManaged(lead, signal) : undefined,
  ])
  return {
    lead,
    canChange: scopes.has('leads') && !isErased(lead),
    managed,
    appointments: appointments.data,
    callbacks: callbacks.data,
    attachments: attachments.data,
  }
}

/**
 * Returns the user in the latest assignment of the history. Returns null if the latest assignment removed the
 * user, and undefined if the history has no assignment.
 */
export const findAssignedUser = (history: HistoryEntry[]): { id: number; email: string } | null | undefined =>
  history.flatMap(({ changes }) => changes).find(({ field }) => field === 'user')?.to as
    | { id: number; email: string }
    | null
    | undefined
