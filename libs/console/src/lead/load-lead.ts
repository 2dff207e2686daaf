import { api, Problem, readData, type Schemas, type Scope } from '../api'
import { type Delivery, listDeliveries } from '../deliveries'
import { type Endpoint, listEndpoints } from '../endpoints'
import { isErased } from '../leads'
import { listUsers, type User } from '../users'
import { type PagedList, readPage, replaceFirstPage } from './paged-list'

export type ManagedLead = Schemas['ManagedLead']
export type LeadChanges = Schemas['UpdateManagedLeadRequest']
export type Note = Schemas['Note']
export type Attachment = Schemas['Image']
export type HistoryEntry = Schemas['LeadHistoryEntry']
export type Suspect = Schemas['LeadSuspect']
export type Erasure = Schemas['Erasure']
export type Scheduled = Schemas['ScheduledRecord'] & { kind: 'appointment' | 'callback' }

/** The rows of each list of a lead. */
export interface Rows {
  notes: Note
  history: HistoryEntry
  appointments: Scheduled
  callbacks: Scheduled
  files: Attachment
  deliveries: Delivery
}

export type ListName = keyof Rows

export type Lists = { [Name in ListName]: PagedList<Rows[Name]> }

/** A lead with the tag of its state. */
export interface LeadState {
  lead: ManagedLead
  etag: string
}

export interface ShownLead extends LeadState {
  lists: Lists
  suspects: Suspect[]
  /** Absent if the user may not list users. */
  users?: User[] | undefined
  /** Absent if the user may not read deliveries. */
  endpoints?: Endpoint[] | undefined
  /** Present if the lead was erased and the user may read receipts. */
  erasure?: Erasure | undefined
}

interface AskedPage {
  reference: string
  cursor?: string | undefined
  signal?: AbortSignal | undefined
}

const readOptions = ({ reference, cursor, signal }: AskedPage) => ({
  params: { path: { reference }, query: { cursor } },
  signal,
})

const readEntries = async (
  kind: Scheduled['kind'],
  page: Promise<{ data?: Schemas['ScheduledRecordCursorPage'] }>,
): Promise<PagedList<Scheduled>> => {
  const { rows, next } = readPage(await readData(page))
  return { rows: rows.map((row) => ({ ...row, kind })), next }
}

type Loaders = { [Name in ListName]: (asked: AskedPage) => Promise<PagedList<Rows[Name]>> }

const LOADERS: Loaders = {
  notes: async (asked) =>
    readPage(await readData(api().GET('/manage/leads/{reference}/notes', readOptions(asked)))),
  history: async (asked) =>
    readPage(await readData(api().GET('/manage/leads/{reference}/history', readOptions(asked)))),
  appointments: (asked) =>
    readEntries('appointment', api().GET('/leads/{reference}/appointments', readOptions(asked))),
  callbacks: (asked) =>
    readEntries('callback', api().GET('/leads/{reference}/callbacks', readOptions(asked))),
  files: async (asked) =>
    readPage(await readData(api().GET('/leads/{reference}/attachments', readOptions(asked)))),
  deliveries: async ({ reference, cursor = '', signal }) =>
    readPage(await listDeliveries({ lead_reference: reference, cursor }, signal)),
}

/** Loads a page of a list of a lead: the first page, or the page after a cursor. */
export const loadList = <Name extends ListName>(
  name: Name,
  asked: AskedPage,
): Promise<PagedList<Rows[Name]>> => LOADERS[name](asked)

/**
 * Returns the tag of a lead in a response. Omits the content encoding, so that tags of two responses can be
 * compared.
 */
export const readEtag = (response: Response): string => response.headers.get('etag')!.replace(/\+\w+"$/, '"')

export const retrieveLead = async (reference: string, signal?: AbortSignal): Promise<LeadState> => {
  const options = { params: { path: { reference } }, signal }
  const { data, response } = await api().GET('/manage/leads/{reference}', options)
  return { lead: data!.data, etag: readEtag(response) }
}

const listSuspects = async (reference: string, signal: AbortSignal): Promise<Suspect[]> => {
  const options = { params: { path: { reference } }, signal }
  return (await readData(api().GET('/manage/leads/{reference}/duplicates', options))).data
}

const retrieveErasure = async (reference: string, signal: AbortSignal): Promise<Erasure> => {
  const options = { params: { path: { reference } }, signal }
  return (await readData(api().GET('/manage/leads/{reference}/erasure', options))).data
}

const NOTHING: PagedList<never> = { rows: [], next: null }

const REFERENCE = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Rejects a text that is not a reference, because a path with this text could name another resource. */
const checkReference = (text: string): void => {
  if (REFERENCE.test(text)) return
  throw new Problem(404, { title: 'Not Found', detail: `There is no lead ${JSON.stringify(text)}.` })
}

interface AskedLead {
  reference: string
  scopes: Set<Scope>
  signal: AbortSignal
  /** Returns what the page shows now. undefined at the first load. */
  readShown: () => ShownLead | undefined
}

/**
 * Loads a lead with the first page of each list that the user may read. Users and endpoints are loaded once.
 * History and suspects are loaded again only if the ETag of the lead has changed.
 */
export const loadLead = async ({ reference, scopes, signal, readShown }: AskedLead): Promise<ShownLead> => {
  checkReference(reference)
  const before = readShown()
  const retrieved = retrieveLead(reference, signal)
  const unlessUnchanged = async <Data>(load: () => Promise<Data>): Promise<Data | undefined> =>
    before && (await retrieved).etag === before.etag ? undefined : load()
  const load = <Name extends ListName>(name: Name) => loadList(name, { reference, signal })
  const mayReadWebhooks = scopes.has('webhooks') || scopes.has('manage:read')

  const [state, history, suspects, notes, appointments, callbacks, files, deliveries, users, endpoints] =
    await Promise.all([
      retrieved,
      unlessUnchanged(() => load('history')),
      unlessUnchanged(() => listSuspects(reference, signal)),
      load('notes'),
      load('appointments'),
      load('callbacks'),
      load('files'),
      mayReadWebhooks ? load('deliveries') : NOTHING,
      scopes.has('users:read') ? (before?.users ?? listUsers(signal)) : undefined,
      mayReadWebhooks ? (before?.endpoints ?? listEndpoints(signal)) : undefined,
    ])
  const mayReadReceipt = isErased(state.lead) && scopes.has('manage:read')
  const erasure = mayReadReceipt ? await retrieveErasure(reference, signal) : undefined

  // Reads the shown lists only now, because the user may have loaded older rows meanwhile.
  const shown = readShown()
  const known = shown?.lists
  return {
    ...state,
    lists: {
      notes: replaceFirstPage(known?.notes, notes),
      history: history ? replaceFirstPage(known?.history, history) : known!.history,
      appointments: replaceFirstPage(known?.appointments, appointments),
      callbacks: replaceFirstPage(known?.callbacks, callbacks),
      files: replaceFirstPage(known?.files, files),
      deliveries: replaceFirstPage(known?.deliveries, deliveries),
    },
    suspects: suspects ?? shown!.suspects,
    users,
    endpoints,
    erasure,
  }
}
