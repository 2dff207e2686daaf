import { Link } from 'wouter-preact'
import { invalidOnly, Problem } from '../api'
import {
  isErased,
  type LeadListItem,
  leadFilters,
  listLeads,
  money,
  nameOf,
  STATUS_WORDS,
  toneOf,
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
        <Link href={`/leads/${lead.reference}`}>{nameOf(lead)}</Link>
      </span>
    ),
  },
  {
    name: 'Status',
    cell: (lead) => (
      <span>
        <Badge word={STATUS_WORDS[lead.status]} tone={toneOf(lead.status)} />{' '}
        {lead.test === 1 && <Badge word="Test lead" tone="held" />}
        {isErased(lead) && <Badge word="Erased" tone="calm" />}
      </span>
    ),
  },
  { name: 'Value', cell: ({ value }) => money(value) },
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
    ['-updated_at', 'Last updated first'],
    ['updated_at', 'Last updated last'],
  ],
}

const load = async (query: URLSearchParams, mayListUsers: boolean, signal: AbortSignal) => {
  const [users, page] = await Promise.all([
    mayListUsers ? listUsers(signal) : undefined,
    listLeads(query, signal).catch(invalidOnly),
  ])
  return page instanceof Problem ? { users, errors: page.errors } : { users, page }
}

/** The API searches some thousand leads for a response, which may find none while there are more. */
const NoLead = ({ isFiltered, isEnd }: { isFiltered: boolean; isEnd: boolean }) => (
  <Empty>
    {isFiltered
      ? `No lead matches${isEnd ? '' : ' among those searched so far. Go on with More'}.`
      : 'There are no leads yet.'}
  </Empty>
)

/** /leads: the leads that the filters match. */
export const Leads = ({ scopes }: PageProps) => {
  const [query] = useQuery()
  const isManager = scopes.has('manage:read')
  const { data, problem, refresh } = useLive(String(query), (signal) => load(query, isManager, signal))
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
          <Table caption="Leads" columns={COLUMNS} rows={page.data} keyOf={({ id }) => id} />
        ) : (
          <NoLead isFiltered={query.size > 0} isEnd={!page.next_cursor} />
        ))}
      <Pager next={page?.next_cursor} names={['First', 'More']} />
    </>
  )
}
