import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, readData, type Schemas } from '../api'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { type Column, Table } from '../parts/table'
import { Exactly } from '../parts/time'
import { listUsers, nameActor, type User } from '../users'

type Entry = Schemas['AuditEntry']

const KINDS: Record<string, string> = { webhook_endpoint: 'endpoint' }

/** Returns the label of an action: "Endpoint secret rotated" for `webhook_endpoint.secret_rotated`. */
const labelAction = (action: string): string => {
  const [kind = '', done = ''] = action.split('.')
  const text = `${KINDS[kind] ?? kind} ${done}`.replace('sign_in', 'sign-in').replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const PAGES: Record<string, string> = {
  webhook_endpoint: 'endpoints',
  delivery: 'deliveries',
  notification: 'notifications',
  import: 'imports',
}

const renderTarget = ({ target: { type, id }, action }: Entry, users: User[]) => {
  const user = type === 'user' && users.find((one) => String(one.id) === String(id))
  if (user) return <span class="wrap">{user.name || user.email}</span>
  if (!PAGES[type] || action.endsWith('.deleted')) return `#${id}`
  return <Link href={`/${PAGES[type]}/${id}`}>{`#${id}`}</Link>
}

const formatValue = (value: unknown): string => {
  if (value === null) return 'nothing'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(formatValue).join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Describes a change of a field. The API shows no values of personal fields. */
const describeChange = (from: unknown, to: unknown): string => {
  if (from === null) return to === null ? 'not shown' : formatValue(to)
  return `${formatValue(from)} → ${formatValue(to)}`
}

const Changes = ({ changes }: Entry) => {
  const all = Object.entries(changes)
  if (all.length === 0) return <span class="none">–</span>
  return (
    <span class="wrap">
      {all.map(([field, { from, to }]) => (
        <span key={field} class="line">
          <span class="faint">{`${field.replaceAll('_', ' ')}: `}</span>
          {describeChange(from, to)}
        </span>
      ))}
    </span>
  )
}

const makeColumns = (users: User[]): Column<Entry>[] => [
  { name: 'Action', cell: ({ action }) => labelAction(action) },
  { name: 'Record', cell: (entry) => renderTarget(entry, users) },
  { name: 'Changes', cell: Changes },
  { name: 'By', cell: ({ actor }) => <span class="wrap">{actor ? nameActor(actor) : 'An operator'}</span> },
  { name: 'When', cell: ({ at }) => <Exactly at={at} /> },
]

/** /audit: the changes of the account with their actors, newest first. */
export const Audit = () => {
  const [query] = useQuery()
  const cursor = query.get('cursor') ?? undefined
  // Without the list of users, the records of users have only their numbers.
  const [users] = useState(() => listUsers().catch((): User[] => []))
  const { data, problem, refresh } = useLive(String(query), async (signal) => {
    const page = await readData(api().GET('/manage/audit', { params: { query: { cursor } }, signal }))
    return { page, users: await users }
  })
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { page } = data
  return (
    <>
      <Title title="Audit log" />
      <p class="faint">
        Exports, and changes of users, tokens, endpoints, images, imports and the account. The page of a lead
        shows the history of the lead.
      </p>
      {page.data.length === 0 ? (
        <Empty>Nothing has been changed yet.</Empty>
      ) : (
        <Table
          caption="Changes of the account, newest first"
          columns={makeColumns(data.users)}
          rows={page.data}
          getKey={({ id }) => id}
        />
      )}
      <Pager next={page.next_cursor} />
    </>
  )
}
