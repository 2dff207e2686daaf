import { Link } from 'wouter-preact'
import { Problem, requireInvalid } from '../api'
import {
  chooseTone,
  formatPounds,
  isErased,
  type LeadListItem,
  leadFilters,
  listLeads,
  nameLead,
  STATUS_LABELS,
} from '../leads'
import { Badge } from '../parts/badge'
import { type Filter, Filters } from '../parts/filters'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, type PageProps, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'
import { listUsers } from '../users'

const COLUMNS: Column<LeadListItem>[] = [
  {
    name: 'Lead',
    cell: (lead) => (
      <span class="named">
        <Link href={`/leads/${lead.reference}`}>{nameLead(lead)}</Link>
      </span>
    ),
  },
  {
    name: 'Status',
    cell: (lead) => (
      <span>
        <Badge word={STATUS_LABELS[lead.status]} tone={chooseTone(lead.status)} />{' '}
        {lead.test === 1 && <Badge word="Test lead" tone="held" />}
        {isErased(lead) && <Badge word="Erased" tone="calm" />}
      </span>
    ),
  },
  { name: 'Value', cell: ({ value }) => formatPounds(value) },
  { name: 'Postcode', cell: ({ postcode }) => postcode },
  { name: 'Referrer', cell: ({ referrer }) => referrer },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  { name: 'Updated', cell: ({ updated_at }) => <Ago at={updated_at} /> },
]

const ORDER: Filter = {
  name: 'sort',
  label: 'Order',
  none: 'Newest first',
  isRare: true,
  options: [
    ['created_at', 'Oldest first'],
    ['-updated_at', 'Most recently updated first'],
    ['updated_at', 'Least recently updated first'],
  ],
}

const load = async (query: URLSearchParams, mayListUsers: boolean, signal: AbortSignal) => {
  const [users, page] = await Promise.all([
    mayListUsers ? listUsers(signal) : undefined,
    listLeads(query, signal).catch(requireInvalid),
  ])
  return page instanceof Problem ? { users, errors: page.errors } : { users, page }
}

/**
 * Shown instead of an empty page. The API reads at most 10,000 leads for a response, so later pages may have
 * matches.
 */
const NoLead = ({ isFiltered, isEnd }: { isFiltered: boolean; isEnd: boolean }) => {
  if (!isFiltered) return <Empty>There are no leads yet.</Empty>
  return <Empty>{isEnd ? 'No lead matches.' : 'No lead matches so far. Use More to search further.'}</Empty>
}

/** /leads: the leads that match the filters. */
export const Leads = ({ scopes }: PageProps) => {
  const [query] = useQuery()
  const isManager = scopes.has('manage:read')
  const mayListUsers = scopes.has('users:read')
  const { data, problem, refresh } = useLive(String(query), (signal) => load(query, mayListUsers, signal))
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { users, page, errors } = data
  const exported = new URLSearchParams(query)
  exported.delete('cursor')
  exported.delete('sort')
  return (
    <>
      <Title
        title="Leads"
        actions={
          isManager && (
            <Link class="button quiet" href={`/exports?${exported}`}>
              Export these
            </Link>
          )
        }
      />
      <Filters filters={[...leadFilters(users), ORDER]} errors={errors} />
      {page &&
        (page.data.length > 0 ? (
          <Table caption="Leads" columns={COLUMNS} rows={page.data} getKey={({ id }) => id} />
        ) : (
          <NoLead isFiltered={query.size > 0} isEnd={!page.next_cursor} />
        ))}
      <Pager next={page?.next_cursor} names={['First', 'More']} />
    </>
  )
}
