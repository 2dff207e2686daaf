import { api, dataOf, type Schemas } from '../api'
import { type Import as ImportRecord, retrieveImport, STATES } from '../imports'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { bytes, number } from '../parts/format'
import { useLive } from '../parts/live'
import { say } from '../parts/notices'
import { type FactRows, Facts, Failure, Loading, type PageProps, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { type Column, Table } from '../parts/table'
import { Exactly } from '../parts/time'

type Fault = Schemas['ImportFault']

const POLL_MS = 1000

const COLUMNS: Column<Fault>[] = [
  { name: 'Row', cell: ({ row }) => `Row ${number(row)}` },
  { name: 'Columns', cell: ({ errors }) => Object.keys(errors).join(', ') },
  {
    name: 'What is wrong',
    cell: ({ errors }) => <span class="wrap">{Object.values(errors).flat().join(' ')}</span>,
  },
]

const load = async (id: number, cursor: string | undefined, signal: AbortSignal) => {
  const params = { path: { id }, query: { cursor } }
  const [shown, faults] = await Promise.all([
    retrieveImport(id, signal),
    dataOf(api().GET('/manage/imports/{id}/faults', { params, signal })),
  ])
  return { shown, faults }
}

const factsOf = (shown: ImportRecord): FactRows => [
  ['Rows read', number(shown.rows_read)],
  ['Leads created', number(shown.rows_created)],
  ['Rows failed', number(shown.rows_failed)],
  ['File', `${shown.format === 'csv' ? 'CSV' : 'Lines of JSON'}, ${bytes(shown.file_size)}`],
  ['Webhooks', shown.webhooks ? 'Lead created is sent for each lead' : 'None are sent'],
  ['Failed because', shown.failure],
  ['Created', <Exactly at={shown.created_at} />],
  ['Ended', shown.finished_at && <Exactly at={shown.finished_at} />],
]

/** /imports/:id: how far an import is, and the rows that were refused. */
export const Import = ({ id: text }: PageProps) => {
  const id = Number(text)
  const [query] = useQuery()
  const { data, problem, refresh } = useLive(
    `${text}?${query}`,
    (signal) => load(id, query.get('cursor') ?? undefined, signal),
    POLL_MS,
  )
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { shown, faults } = data
  const cancel = async () => {
    await api().POST('/manage/imports/{id}/cancel', { params: { path: { id } } })
    say('Cancelled.')
    await refresh()
  }
  return (
    <>
      <Title
        title={`Import ${id}`}
        from={['Imports', '/imports']}
        actions={
          !shown.finished_at && (
            <Action
              label="Cancel import"
              danger
              run={cancel}
              question={{
                title: 'Cancel this import?',
                yes: 'Cancel import',
                content: <p>Leads that were created stay. The rest of the file is not read.</p>,
              }}
            />
          )
        }
      >
        {`Import ${id} `}
        <Badge {...STATES[shown.state]} />
      </Title>
      <progress aria-label="Bytes of the file that are done" max={shown.file_size} value={shown.bytes_read} />
      <Facts rows={factsOf(shown)} />
      {faults.data.length > 0 && (
        <>
          <h2>Rows that failed</h2>
          <p class="faint">
            Row 1 is the first below the header. Correct these rows in a file of their own and import that.
          </p>
          <Table caption="Rows that failed" columns={COLUMNS} rows={faults.data} keyOf={({ row }) => row} />
        </>
      )}
      <Pager next={faults.next_cursor} names={['First', 'Next']} />
    </>
  )
}
