import { useRef, useState } from 'preact/hooks'
import { api, type Problem, type Scope } from '../api'
import { isErased } from '../leads'
import { useLive } from '../parts/live'
import {
  type LeadChanges,
  type LeadState,
  type ListName,
  loadLead,
  loadList,
  type ManagedLead,
  type Rows,
  readEtag,
  type ShownLead,
} from './load-lead'
import { addPage, type PagedList } from './paged-list'

/** A lead on its page, and what the user may do with it. */
export interface LeadPage {
  shown: ShownLead
  lead: ManagedLead
  /** Whether the user may change the fields of the lead, its notes and its duplicates. */
  mayEdit: boolean
  /** Whether the user may book appointments and callbacks, and attach files. */
  mayBook: boolean
  refresh: () => Promise<void>
  /**
   * Runs a change that applies only to a state of the lead. `change` gets the tag for If-Match and returns
   * the response. Changes that this page has made since do not count as changes by others.
   */
  changeFrom: (state: LeadState, change: (etag: string) => Promise<Response>) => Promise<void>
  /** Changes fields of a state of the lead. Throws a problem with the status 412 if the lead has changed. */
  update: (state: LeadState, changes: LeadChanges) => Promise<void>
  /** Changes the loaded rows of a list, as the user has just changed them. */
  changeRows: <Name extends ListName>(name: Name, change: (rows: Rows[Name][]) => Rows[Name][]) => void
  /** Loads the next page of a list. */
  loadOlder: (name: ListName) => Promise<void>
}

interface Loaded {
  page?: LeadPage
  problem: Problem | undefined
  refresh: () => Promise<void>
}

/** Returns the tag to which the changes of this page have led from a tag. */
const follow = (successors: Map<string, string>, etag: string): string => {
  let latest = etag
  for (let next = successors.get(latest); next !== undefined; next = successors.get(latest)) latest = next
  return latest
}

/** Loads a lead and keeps it up to date. Rows of older pages stay when the first pages are loaded again. */
export const useLead = (reference: string, scopes: Set<Scope>): Loaded => {
  const shown = useRef<ShownLead>()
  const successors = useRef(new Map<string, string>())
  const [, countRenders] = useState(0)
  const { data, problem, refresh } = useLive(reference, async (signal) => {
    shown.current = await loadLead({ reference, scopes, signal, readShown: () => shown.current })
    return shown.current
  })
  if (!data || !shown.current) return { problem, refresh }

  const { lead } = shown.current
  const params = { path: { reference } }
  const changeFrom: LeadPage['changeFrom'] = async (state, change) => {
    const etag = follow(successors.current, state.etag)
    const changed = readEtag(await change(etag))
    if (changed !== etag) successors.current.set(etag, changed)
    await refresh()
  }
  const update: LeadPage['update'] = (state, body) =>
    changeFrom(state, async (etag) => {
      const header = { 'If-Match': etag }
      const { response } = await api().PATCH('/manage/leads/{reference}', {
        params: { ...params, header },
        body,
      })
      return response
    })
  const show = <Name extends ListName>(name: Name, list: PagedList<Rows[Name]>) => {
    const { lists } = shown.current!
    shown.current = { ...shown.current!, lists: { ...lists, [name]: list } }
    countRenders((count) => count + 1)
  }
  const changeRows: LeadPage['changeRows'] = (name, change) => {
    const { rows, next } = shown.current!.lists[name]
    show(name, { rows: change(rows), next })
  }
  const loadOlder = async <Name extends ListName>(name: Name) => {
    const cursor = shown.current!.lists[name].next
    if (cursor === null) return
    const older = await loadList(name, { reference, cursor })
    const list: PagedList<Rows[Name]> = shown.current!.lists[name]
    // Ignores the page if the list was loaded again meanwhile, and now ends elsewhere.
    if (list.next === cursor) show(name, addPage(list, older))
  }
  const isErasedLead = isErased(lead)
  const page = {
    shown: shown.current,
    lead,
    mayEdit: !isErasedLead && (scopes.has('leads') || scopes.has('manage')),
    mayBook: !isErasedLead && scopes.has('leads'),
    refresh,
    changeFrom,
    update,
    changeRows,
    loadOlder,
  }
  return { page, problem, refresh }
}
