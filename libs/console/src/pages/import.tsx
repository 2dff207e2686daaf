import { useState } from 'preact/hooks'
import { api, readData, type Schemas } from '../api'
import { type Corrections, FailedRows } from '../import/failed-rows'
import { type Import as ImportRecord, retrieveImport, STATES } from '../imports'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { formatBytes, formatNumber } from '../parts/format'
import { useLive } from '../parts/live'
import { showNotice } from '../parts/notices'
import { type FactRows, Facts, Failure, Loading, type PageProps, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { type Column, Table } from '../parts/table'
import { Exactly } from '../parts/time'

type Ignored = Schemas['IgnoredColumn']

const POLL_MS = 1000

const IGNORED: Column<Ignored>[] = [
  { name: 'Column', cell: ({ name }) => <span class="wrap">{name}</span> },
  {
    name: 'Did you mean',
    cell: ({ did_you_mean }) => (did_you_mean ? <code>{did_you_mean}</code> : <span class="none">–</span>),
  },
]

// Loads the import before its failed rows: if the import has finished, its failed rows are then complete.
const load = async (id: number, cursor: string | undefined, signal: AbortSignal) => {
  const params = { path: { id }, query: { cursor } }
  const shown = await retrieveImport(id, signal)
  const failed = await readData(api().GET('/manage/imports/{id}/errors', { params, signal }))
  return { shown, failed }
}

const listFacts = (shown: ImportRecord): FactRows => [
  ['File', shown.file_name && <span class="wrap">{shown.file_name}</span>],
  ['Rows read', formatNumber(shown.rows_read)],
  ['Leads created', formatNumber(shown.rows_created)],
  ['Rows failed', formatNumber(shown.rows_failed)],
  ['Format', `${shown.format === 'csv' ? 'CSV' : 'NDJSON'}, ${formatBytes(shown.file_size)}`],
  ['Webhooks', shown.webhooks ? 'Sent for each created lead' : 'Not sent'],
  ['Reason for the failure', shown.failure],
  ['Created', <Exactly at={shown.created_at} />],
  ['Ended', shown.finished_at && <Exactly at={shown.finished_at} />],
]

/** /imports/:id: the progress of an import, its ignored columns and its failed rows. */
export const Import = ({ id: text, scopes }: PageProps) => {
  const id = Number(text)
  const [query] = useQuery()
  // Is here, so that edits are kept while another page of rows is loading.
  const [corrections, setCorrections] = useState<Corrections>(new Map())
  const { data, problem, refresh } = useLive(
    `${text}?${query}`,
    (signal) => load(id, query.get('cursor') ?? undefined, signal),
    { everyMs: POLL_MS, isFinal: (loaded) => loaded.shown.finished_at !== null },
  )
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { shown, failed } = data
  const cancel = async () => {
    await api().POST('/manage/imports/{id}/cancel', { params: { path: { id } } })
    showNotice('Cancelled.')
    await refresh()
  }
  return (
    <>
      <Title
        title={`Import ${id}`}
        from={['Imports', '/imports']}
        actions={
          scopes.has('manage') &&
          !shown.finished_at && (
            <Action
              label="Cancel import"
              danger
              run={cancel}
              question={{
                title: 'Cancel this import?',
                yes: 'Cancel import',
                content: <p>Created leads are kept. The rest of the file is not read.</p>,
              }}
            />
          )
        }
      >
        {`Import ${id} `}
        <Badge {...STATES[shown.state]} />
      </Title>
      {shown.finished_at === null && (
        <progress aria-label="Processed bytes of the file" max={shown.file_size} value={shown.bytes_read} />
      )}
      <Facts rows={listFacts(shown)} />
      {shown.ignored_columns.length > 0 && (
        <>
          <h2>Ignored columns</h2>
          <p class="faint">
            These columns were not imported. To import a column, give it the name of a field, or of an
            attribute such as attributes.shoe_size.
          </p>
          <Table
            caption="Ignored columns"
            columns={IGNORED}
            rows={shown.ignored_columns}
            getKey={({ name }) => name}
          />
        </>
      )}
      {failed.data.length > 0 && (
        <FailedRows
          shown={shown}
          rows={failed.data}
          corrections={corrections}
          onEdited={setCorrections}
          mayCorrect={scopes.has('manage')}
        />
      )}
      <Pager next={failed.next_cursor} names={['First', 'Next']} />
    </>
  )
}
