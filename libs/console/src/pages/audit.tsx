import { Link } from 'wouter-preact'
import { api, dataOf, type Schemas } from '../api'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { type Column, Table } from '../parts/table'
import { Exactly } from '../parts/time'

type Entry = Schemas['AuditEntry']

const KINDS: Record<string, string> = { webhook_endpoint: 'endpoint' }

/** `webhook_endpoint.secret_rotated` as "Endpoint secret rotated". */
const wordsOf = (action: string): string => {
  const [kind = '', done = ''] = action.split('.')
  const text = `${KINDS[kind] ?? kind} ${done}`.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const PAGES: Record<string, string> = {
  webhook_endpoint: 'endpoints',
  delivery: 'deliveries',
  notification: 'notifications',
  import: 'imports',
}

const targetOf = ({ target: { type, id }, action }: Entry) =>
  PAGES[type] && !action.endsWith('.deleted') ? (
    <Link href={`/${PAGES[type]}/${id}`}>{`#${id}`}</Link>
  ) : (
    `#${id}`
  )

const textOf = (value: unknown): string =>
  value === null ? 'nothing' : typeof value === 'string' ? value : JSON.stringify(value)

const Changes = ({ changes }: Entry) => {
  const all = Object.entries(changes)
  if (all.length === 0) return <span class="none">–</span>
  return (
    <span class="wrap">
      {all.map(([field, { from, to }]) => (
        <span key={field} class="line">
          <span class="faint">{`${field.replaceAll('_', ' ')}: `}</span>
          {from === null ? textOf(to) : `${textOf(from)} → ${textOf(to)}`}
        </span>
      ))}
    </span>
  )
}

const COLUMNS: Column<Entry>[] = [
  { name: 'What', cell: ({ action }) => wordsOf(action) },
  { name: 'Id', cell: targetOf },
  { name: 'Changes', cell: Changes },
  { name: 'By', cell: ({ token }) => (token ? `Token ${token.name}` : 'An operator') },
  { name: 'When', cell: ({ at }) => <Exactly at={at} /> },
]

/** /audit: who changed what of the account, newest first. */
export const Audit = () => {
  const [query] = useQuery()
  const cursor = query.get('cursor') ?? undefined
  const { data, problem, refresh } = useLive(String(query), (signal) =>
    dataOf(api().GET('/manage/audit', { params: { query: { cursor } }, signal })),
  )
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  return (
    <>
      <Title title="Audit log" />
      <p class="faint">
        Changes of users, tokens, endpoints, images, imports and the account. A lead has its own history.
      </p>
      {data.data.length === 0 ? (
        <Empty>Nothing was changed yet.</Empty>
      ) : (
        <Table
          caption="Changes of the account, newest first"
          columns={COLUMNS}
          rows={data.data}
          keyOf={({ id }) => id}
        />
      )}
      <Pager next={data.next_cursor} />
    </>
  )
}
