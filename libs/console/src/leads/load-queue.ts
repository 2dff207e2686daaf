import { asProblem, Problem, requireInvalid, type Scope } from '../api'
import type { Status } from '../leads'
import type { FieldErrors } from '../parts/form'
import { me } from '../session'
import { listUsers, type User } from '../users'
import { type LeadPage, listManagedLeads, type ManagedLead } from './managed-leads'
import { listSavedViews, type View } from './views'

/** The statuses of the board, in the order of its columns. */
const BOARD_STATUSES: Status[] = [
  'open',
  'awaiting_email',
  'callback_later',
  'unable_to_contact',
  'appointment_scheduled',
  'sold',
  'lost',
]

/** The maximum number of leads of a column of the board. */
const COLUMN_LEADS = 10

export interface BoardColumn {
  status: Status
  leads: ManagedLead[]
  hasMore: boolean
}

export interface Queue {
  /** Undefined if the user may not list users. */
  users: User[] | undefined
  /** The saved views, or the problem if they could not be loaded. */
  views: View[] | Problem
  /** Undefined on the board, and if a parameter is invalid. */
  page?: LeadPage
  /** Defined on the board. */
  columns?: BoardColumn[]
  errors?: FieldErrors
}

/** Calls `load` until it succeeds. Then returns the result again, until `forget` is called. */
const keep = <Data>(load: () => Promise<Data>) => {
  let kept: Promise<Data> | undefined
  const forget = () => {
    kept = undefined
  }
  const get = (): Promise<Data> => {
    kept ??= load().catch((error: unknown) => {
      forget()
      throw error
    })
    return kept
  }
  return { get, forget }
}

const loadColumn = async (
  status: Status,
  parameters: Record<string, string>,
  signal: AbortSignal,
): Promise<BoardColumn> => {
  // A cursor saves the count, which is slow.
  const asked = { ...parameters, status, per_page: String(COLUMN_LEADS), cursor: '' }
  const { data, next_cursor: next } = await listManagedLeads(asked, signal)
  return { status, leads: data, hasMore: Boolean(next) }
}

const loadLeads = async (query: URLSearchParams, signal: AbortSignal) => {
  const { layout, page, cursor, ...filters } = Object.fromEntries(query)
  if (layout !== 'board') {
    const place: Record<string, string> = cursor === undefined ? { page: page ?? '1' } : { cursor }
    return { page: await listManagedLeads({ ...filters, ...place }, signal) }
  }
  const statuses = filters['status'] ? [filters['status'] as Status] : BOARD_STATUSES
  return { columns: await Promise.all(statuses.map((status) => loadColumn(status, filters, signal))) }
}

/** Creates a function that loads the queue. It loads users and views only once, as they rarely change. */
export const createQueueLoader = (scopes: Set<Scope>) => {
  const users = keep(async () => (scopes.has('users:read') ? listUsers() : undefined))
  const views = keep(async () => (me.value?.type === 'user' ? listSavedViews() : []))
  const load = async (query: URLSearchParams, signal: AbortSignal): Promise<Queue> => {
    const [listed, saved, leads] = await Promise.all([
      users.get(),
      views.get().catch(asProblem),
      loadLeads(query, signal).catch(requireInvalid),
    ])
    const errors = leads instanceof Problem ? leads.errors : undefined
    return { users: listed, views: saved, ...(leads instanceof Problem ? { errors } : leads) }
  }
  return { load, forgetViews: views.forget }
}
