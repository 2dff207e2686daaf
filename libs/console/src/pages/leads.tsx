import { useEffect, useState } from 'preact/hooks'
import { Link, useLocation, useSearch } from 'wouter-preact'
import type { Scope } from '../api'
import { BulkBar } from '../leads/bulk-bar'
import { FilterChips } from '../leads/filter-chips'
import { LayoutSwitch } from '../leads/layout-switch'
import { LeadBoard } from '../leads/lead-board'
import { LeadTable } from '../leads/lead-table'
import { createQueueLoader, type Queue } from '../leads/load-queue'
import type { LeadPage } from '../leads/managed-leads'
import { queueFilters } from '../leads/queue-filters'
import { describeRange, QueuePager } from '../leads/queue-pager'
import { usePlace } from '../leads/use-place'
import { useQueueKeys } from '../leads/use-queue-keys'
import { type Selection, useSelection } from '../leads/use-selection'
import { ViewTabs } from '../leads/view-tabs'
import { readViewQuery } from '../leads/views'
import { Filters } from '../parts/filters'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, type PageProps, Title } from '../parts/page'
import { useQuery } from '../parts/pager'
import { areSingleKeysOn } from '../parts/single-keys'

// The list counts up to 10,000 leads, and the board makes a request for each column.
const LIST_MS = 10_000
const BOARD_MS = 30_000

const isOwnerId = (owner: string | null): boolean => owner !== null && /^\d+$/.test(owner)

/** Returns the names of the filters in use that exports do not have: due and unassigned leads. */
const listUnexportedFilters = (query: URLSearchParams): string[] => {
  const owner = query.get('user_id')
  return [...(owner && !isOwnerId(owner) ? ['Owner'] : []), ...(query.get('due') ? ['Due'] : [])]
}

/** Returns the label of the link to the exports. Says if the file will have more leads than the list. */
const labelExport = (query: URLSearchParams): string => {
  const [first, ...others] = listUnexportedFilters(query)
  if (first === undefined) return 'Export these'
  return others.length > 0
    ? `Export without the filters ${[first, ...others].join(' and ')}`
    : `Export without the filter ${first}`
}

/** Returns the path of the exports with these filters. */
const renderExportPath = (query: URLSearchParams): string => {
  const exported = new URLSearchParams(query)
  const owner = exported.get('user_id')
  if (isOwnerId(owner)) exported.set('assigned_to', owner!)
  for (const name of ['cursor', 'page', 'sort', 'layout', 'user_id', 'due']) exported.delete(name)
  return `/exports?${exported}`
}

const QueueTitle = ({ query, scopes }: { query: URLSearchParams; scopes: Set<Scope> }) => (
  <Title
    title="Leads"
    actions={
      <>
        {scopes.has('manage:read') && (
          <Link class="button quiet" href={renderExportPath(query)}>
            {labelExport(query)}
          </Link>
        )}
        {scopes.has('leads') && (
          <Link class="button" href="/leads/new">
            New lead
          </Link>
        )}
      </>
    }
  />
)

/**
 * Shown instead of an empty page. The API reads at most 10,000 leads for a response, so later pages may have
 * matches.
 */
const NoLead = ({ page, isFiltered, scopes }: Pick<ListProps, 'page' | 'isFiltered' | 'scopes'>) => {
  if (page.next_cursor) return <Empty>No lead matches so far. Use Search further to continue.</Empty>
  if (page.total) return <Empty>This page has no leads. Use Previous to go back.</Empty>
  if (isFiltered) return <Empty>No lead matches. Change the filters, or clear them.</Empty>
  return (
    <Empty>
      <p>There are no leads yet.</p>
      {scopes.has('leads') && (
        <p>
          <Link href="/leads/new">Create a lead</Link>
          {scopes.has('manage') && (
            <>
              , <Link href="/imports">import a file of leads</Link>, or{' '}
              <Link href="/tokens">create a token</Link> for the form on your website
            </>
          )}
          .
        </p>
      )}
    </Empty>
  )
}

interface ListProps {
  page: LeadPage
  selection: Selection | undefined
  keys: ReturnType<typeof useQueueKeys>
  isFiltered: boolean
  scopes: Set<Scope>
}

const List = ({ page, selection, keys, isFiltered, scopes }: ListProps) => (
  <>
    {page.data.length === 0 ? (
      <NoLead page={page} isFiltered={isFiltered} scopes={scopes} />
    ) : (
      <LeadTable leads={page.data} selection={selection} marked={keys.marked} mark={keys.mark} />
    )}
    <QueuePager page={page} />
  </>
)

const NONE: LeadPage['data'] = []

/** Scrolls to the start of another page of the list. */
const useStartOfPage = (place: string) => {
  const [first] = useState(place)
  useEffect(() => {
    if (place !== first) scrollTo(0, 0)
  }, [place])
}

interface ShownProps {
  queue: Queue
  query: URLSearchParams
  scopes: Set<Scope>
  refresh: () => Promise<void>
  refreshViews: () => Promise<void>
}

const KeyHelp = ({ maySelect }: { maySelect: boolean }) => (
  <p class="faint key-help">
    {areSingleKeysOn.value ? (
      <>
        Keys: <kbd>J</kbd> next, <kbd>K</kbd> previous, <kbd>Enter</kbd> open
        {maySelect && (
          <>
            , <kbd>X</kbd> select
          </>
        )}
        .{' '}
      </>
    ) : (
      'Single keys are not used as shortcuts. '
    )}
    <Link href="/me">Change</Link>
  </p>
)

const ShownQueue = ({ queue, query, scopes, refresh, refreshViews }: ShownProps) => {
  const { users, views, page, columns, errors } = queue
  const canChange = scopes.has('leads') || scopes.has('manage')
  const viewQuery = readViewQuery(query)
  const selection = useSelection(viewQuery)
  const chosen = canChange ? selection : undefined
  const keys = useQueueKeys(page?.data ?? NONE, chosen)
  const [path] = useLocation()
  usePlace(`${path}?${useSearch()}`, keys)
  useStartOfPage(`${query.get('page')} ${query.get('cursor')}`)
  const filters = queueFilters(users)
  return (
    <>
      <QueueTitle query={query} scopes={scopes} />
      <ViewTabs views={views} refresh={refreshViews} />
      <div class="queue-filters">
        <Filters filters={filters} errors={errors} />
        <FilterChips filters={filters} />
      </div>
      <div class="split">
        <p class="faint">{page && describeRange(page)}</p>
        <LayoutSwitch />
      </div>
      {page && (
        <div class="queue-list">
          {chosen && <BulkBar selection={chosen} users={users} refresh={refresh} />}
          <List page={page} selection={chosen} keys={keys} isFiltered={viewQuery !== ''} scopes={scopes} />
        </div>
      )}
      {columns && <LeadBoard columns={columns} canMove={canChange} refresh={refresh} />}
      {page && page.data.length > 0 && <KeyHelp maySelect={chosen !== undefined} />}
    </>
  )
}

/** /leads: the leads that match the filters, as a list or as a board. */
export const Leads = ({ scopes }: PageProps) => {
  const [query] = useQuery()
  const [loader] = useState(() => createQueueLoader(scopes))
  const everyMs = query.get('layout') === 'board' ? BOARD_MS : LIST_MS
  const load = (signal: AbortSignal) => loader.load(query, signal)
  const { data: queue, problem, refresh } = useLive(String(query), load, { everyMs })
  if (!queue) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const refreshViews = () => {
    loader.forgetViews()
    return refresh()
  }
  const props = { queue, query, scopes, refresh, refreshViews }
  return <ShownQueue {...props} />
}
