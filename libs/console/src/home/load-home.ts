import { api, asProblem, type Problem, readData, type Schemas, type Scope } from '../api'
import { judgeEndpoint, loadEndpoints } from '../endpoints'
import { listOpenEntries, type ScheduleEntry } from '../schedule'
import { me } from '../session'
import { addDays, findStartOfUkDay, findUkDay, listDays } from './days'

export type Figures = Schemas['Figures']

/** A count that may be limited: `isLeast` says that there are more. */
export interface Count {
  count: number
  isLeast: boolean
}

/** A part of the page, or the problem because of which only this part is missing. */
export type Part<Data> = { data: Data; problem?: undefined } | { data?: undefined; problem: Problem }

export interface LeadCounts {
  newToday: Count
  /** The new leads of yesterday until the present time of day. */
  newYesterday: Count
  open: Count
}

export interface Sales {
  today?: Figures
  yesterday?: Figures
}

/** How many of the leads of a period are sold now. */
export interface Share {
  created: number
  sold: number
}

export interface Sources {
  days: string[]
  byDay: Figures[]
  bySource: Figures[]
  /** The share of each source. */
  shares: Map<string, Share>
  share: Share
  /** The share of the same number of days before. */
  shareBefore: Share
  isCurrent: boolean
}

export interface Due {
  today: Count
  overdue: Count
}

export interface Home {
  /** The time of the data. */
  now: number
  /** The number of days of `sources`. */
  days: number
  leads?: Part<LeadCounts>
  sales?: Part<Sales>
  sources?: Part<Sources>
  due?: Part<Due>
  mine?: Part<{ entries: ScheduleEntry[]; hasMore: boolean }>
  endpoints?: Part<{ failing: number; all: number }>
}

/**
 * Loads a part of the page. A problem with the request, such as a refused period, affects only this part. Any
 * other problem, such as a lost connection, is thrown, so that the page keeps its data and shows their age.
 */
const loadPart = async <Data>(load: () => Promise<Data>): Promise<Part<Data>> => {
  try {
    return { data: await load() }
  } catch (error) {
    const problem = asProblem(error)
    if (problem.status === 403 || problem.status === 404 || problem.status === 422) return { problem }
    throw error
  }
}

const countLeads = async (
  filters: { status?: 'open'; created_from?: string; created_to?: string },
  signal: AbortSignal,
): Promise<Count> => {
  const query = { ...filters, test: false, per_page: 1 }
  const page = await readData(api().GET('/leads', { params: { query }, signal }))
  return { count: page.total ?? 0, isLeast: page.total_capped ?? false }
}

const loadLeadCounts = async (now: number, signal: AbortSignal): Promise<LeadCounts> => {
  const today = findUkDay(now)
  const start = findStartOfUkDay(today)
  const startBefore = findStartOfUkDay(addDays(today, -1))
  const instant = (ms: number) => new Date(ms).toISOString()
  const yesterday = { created_from: instant(startBefore), created_to: instant(startBefore + now - start) }
  const [newToday, newYesterday, open] = await Promise.all([
    countLeads({ created_from: instant(start) }, signal),
    countLeads(yesterday, signal),
    countLeads({ status: 'open' }, signal),
  ])
  return { newToday, newYesterday, open }
}

type Groups = 'day' | 'referrer' | 'status' | 'day,referrer' | 'referrer,status'

const loadFigures = (
  from: string,
  to: string,
  groups: Groups,
  signal: AbortSignal,
): Promise<Schemas['FiguresList']> =>
  readData(api().GET('/manage/figures', { params: { query: { from, to, group_by: groups } }, signal }))

const loadSales = async (today: string, signal: AbortSignal): Promise<Sales> => {
  const yesterday = addDays(today, -1)
  const { data } = await loadFigures(yesterday, today, 'day', signal)
  return {
    today: data.find(({ day }) => day === today),
    yesterday: data.find(({ day }) => day === yesterday),
  }
}

/** Groups figures by a key, in the order of the keys. */
export const groupFigures = (
  figures: Figures[],
  getKey: (figures: Figures) => string,
): Map<string, Figures[]> => {
  const groups = new Map<string, Figures[]>()
  for (const one of figures) groups.set(getKey(one), [...(groups.get(getKey(one)) ?? []), one])
  return groups
}

/** Counts the leads of a period, and those of them that are sold now. Never counts more sold than created. */
const sumShare = (figures: Figures[]): Share => ({
  created: figures.reduce((sum, { created }) => sum + created, 0),
  sold: figures.reduce((sum, { status, created }) => sum + (status === 'sold' ? created : 0), 0),
})

const loadSources = async (today: string, count: number, signal: AbortSignal): Promise<Sources> => {
  const days = listDays(today, count)
  const from = days[0]!
  const [byDay, bySource, byStatus, before] = await Promise.all([
    loadFigures(from, today, 'day,referrer', signal),
    loadFigures(from, today, 'referrer', signal),
    loadFigures(from, today, 'referrer,status', signal),
    loadFigures(addDays(from, -count), addDays(from, -1), 'status', signal),
  ])
  const referrers = groupFigures(byStatus.data, ({ referrer = '' }) => referrer)
  return {
    days,
    byDay: byDay.data,
    bySource: bySource.data.toSorted((a, b) => b.created - a.created),
    shares: new Map([...referrers].map(([referrer, figures]) => [referrer, sumShare(figures)])),
    share: sumShare(byStatus.data),
    shareBefore: sumShare(before.data),
    isCurrent: byDay.is_current && bySource.is_current && byStatus.is_current,
  }
}

const loadDue = async (now: number, signal: AbortSignal): Promise<Due> => {
  const today = findUkDay(now)
  const from = new Date(findStartOfUkDay(today)).toISOString()
  const to = new Date(findStartOfUkDay(addDays(today, 1))).toISOString()
  const [dueToday, overdue] = await Promise.all([
    listOpenEntries({ from, to }, signal),
    listOpenEntries({ to: new Date(now).toISOString() }, signal),
  ])
  const count = ({ data, next_cursor }: typeof dueToday): Count => ({
    count: data.length,
    isLeast: next_cursor !== null,
  })
  return { today: count(dueToday), overdue: count(overdue) }
}

const loadMine = async (signal: AbortSignal) => {
  const user_id = me.value?.type === 'user' ? me.value.id : undefined
  const { data, next_cursor } = await listOpenEntries({ user_id }, signal)
  return { entries: data, hasMore: next_cursor !== null }
}

const loadFailing = async (signal: AbortSignal) => {
  const endpoints = await loadEndpoints(signal)
  const failing = endpoints.filter((endpoint) => judgeEndpoint(endpoint).tone === 'bad')
  return { failing: failing.length, all: endpoints.length }
}

/** Loads the parts of the page that the scopes allow. `days` is the number of days of the sources. */
export const loadHome = async (days: number, scopes: Set<Scope>, signal: AbortSignal): Promise<Home> => {
  const now = Date.now()
  const today = findUkDay(now)
  const mayReadFigures = scopes.has('leads:read') || scopes.has('manage:read')
  const mayReadEndpoints = scopes.has('webhooks') || scopes.has('manage:read')
  const [leads, sales, sources, due, mine, endpoints] = await Promise.all([
    scopes.has('leads:read') ? loadPart(() => loadLeadCounts(now, signal)) : undefined,
    mayReadFigures ? loadPart(() => loadSales(today, signal)) : undefined,
    mayReadFigures ? loadPart(() => loadSources(today, days, signal)) : undefined,
    mayReadFigures ? loadPart(() => loadDue(now, signal)) : undefined,
    mayReadFigures ? loadPart(() => loadMine(signal)) : undefined,
    mayReadEndpoints ? loadPart(() => loadFailing(signal)) : undefined,
  ])
  return { now, days, leads, sales, sources, due, mine, endpoints }
}
