import { api, dataOf, leadsApi, type Schemas, type Scope } from '../api'
import { type Delivery, listDeliveries } from '../deliveries'
import { type Endpoint, listEndpoints } from '../endpoints'
import { isErased, type Lead, mayChange } from '../leads'
import { listUsers, type User } from '../users'

export type Scheduled = Schemas['ScheduledRecord']
export type Attachment = Schemas['Image']
export type HistoryEntry = Schemas['LeadHistoryEntry']
export type Suspect = Schemas['LeadSuspect']
export type Erasure = Schemas['Erasure']

/** What a token with the scope `manage:read` sees beside. */
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
  /** Whether the token may change it, and it can be changed. */
  canChange: boolean
  managed?: Managed
}

const retrieveErasure = async (reference: string, signal?: AbortSignal): Promise<Erasure> =>
  (await dataOf(api().GET('/manage/leads/{reference}/erasure', { params: { path: { reference } }, signal })))
    .data

const loadManaged = async (lead: Lead, signal: AbortSignal): Promise<Managed> => {
  const { reference } = lead
  const [managedLead, suspects, users, history, deliveries, endpoints, erasure] = await Promise.all([
    dataOf(api().GET('/manage/leads/{reference}', { params: { path: { reference } }, signal })),
    dataOf(api().GET('/manage/leads/{reference}/duplicates', { params: { path: { reference } }, signal })),
    listUsers(signal),
    dataOf(api().GET('/manage/leads/{reference}/history', { params: { path: { reference } }, signal })),
    listDeliveries({ lead_reference: reference }, signal),
    listEndpoints(signal),
    isErased(lead) ? retrieveErasure(reference, signal) : undefined,
  ])
  return {
    ...{ lead: managedLead.data, suspects: suspects.data, users, history: history.data },
    ...{ deliveries: deliveries.data, endpoints, erasure },
  }
}

/** A lead with all that the token may see of it: of each list the newest hundred. */
export const loadLead = async (
  reference: string,
  scopes: Set<Scope>,
  signal: AbortSignal,
): Promise<ShownLead> => {
  const asked = { params: { path: { reference } }, signal }
  const lead = await leadsApi().retrieve(reference, { signal })
  const [appointments, callbacks, attachments, canChange, managed] = await Promise.all([
    dataOf(api().GET('/leads/{reference}/appointments', asked)),
    dataOf(api().GET('/leads/{reference}/callbacks', asked)),
    dataOf(api().GET('/leads/{reference}/attachments', asked)),
    !isErased(lead) && mayChange(reference),
    scopes.has('manage:read') ? loadManaged(lead, signal) : undefined,
  ])
  return {
    ...{ lead, canChange, managed },
    appointments: appointments.data,
    callbacks: callbacks.data,
    attachments: attachments.data,
  }
}

/** The user that the history names last; undefined where it names none, and null where no user is assigned. */
export const assignedUser = (history: HistoryEntry[]): { id: number; email: string } | null | undefined =>
  history.flatMap(({ changes }) => changes).find(({ field }) => field === 'user')?.to as
    | { id: number; email: string }
    | null
    | undefined
