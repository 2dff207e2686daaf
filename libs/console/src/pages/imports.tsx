import { useEffect, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { api, dataOf } from '../api'
import {
  CHARSETS,
  createImport,
  type FileColumn,
  type Import,
  loadColumns,
  STATES,
  template,
} from '../imports'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { Field, Options, useForm } from '../parts/form'
import { number } from '../parts/format'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { saveFile } from '../parts/save-file'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'

const IMPORTS: Column<Import>[] = [
  { name: 'Import', cell: ({ id }) => <Link href={`/imports/${id}`}>{`#${id}`}</Link> },
  { name: 'State', cell: ({ state }) => <Badge {...STATES[state]} /> },
  { name: 'Rows read', cell: ({ rows_read }) => number(rows_read) },
  { name: 'Leads created', cell: ({ rows_created }) => number(rows_created) },
  { name: 'Rows failed', cell: ({ rows_failed }) => number(rows_failed) },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
]

const FIELDS: Column<FileColumn>[] = [
  { name: 'Column', cell: ({ name }) => <code>{name}</code> },
  { name: 'What it has', cell: ({ what }) => what },
  {
    name: 'Needed',
    cell: ({ isNeeded }) => (isNeeded ? 'in each row' : <span class="none">optional</span>),
  },
  { name: 'Example', cell: ({ example }) => example || <span class="none">–</span> },
]

const Columns = ({ columns }: { columns: FileColumn[] }) => (
  <details>
    <summary>Columns of a file</summary>
    <div class="part">
      <p>
        The first row has the names, in any order and spelling. Cells are separated by commas, semicolons,
        tabs or bars. A file that was exported here can be imported too.
      </p>
      <Table
        caption="Columns of a file of leads"
        columns={FIELDS}
        rows={columns}
        keyOf={({ name }) => name}
      />
    </div>
  </details>
)

const Upload = () => {
  const [, navigate] = useLocation()
  const send = async (fields: FormData) => {
    const { id } = await createImport({
      file: fields.get('file') as File,
      charset: String(fields.get('charset')),
      webhooks: fields.has('webhooks'),
    })
    navigate(`/imports/${id}`)
  }
  const { onSubmit, errors, failure, isBusy } = useForm(send, ['file'])
  return (
    <form class="card padded narrow" aria-busy={isBusy} onSubmit={onSubmit}>
      <Field
        name="file"
        label="File of leads"
        errors={errors}
        help="CSV with a header, or lines of JSON (.ndjson). A row that is refused is listed; the others are created."
      >
        {(attributes) => <input type="file" accept=".csv,.txt,.ndjson,.jsonl" required {...attributes} />}
      </Field>
      <Field name="charset" label="Text is">
        {(attributes) => (
          <select {...attributes}>
            <Options options={CHARSETS} />
          </select>
        )}
      </Field>
      <label class="box">
        <input type="checkbox" name="webhooks" /> Send Lead created webhooks for these leads
      </label>
      {failure}
      <div class="actions">
        <button type="submit">{isBusy ? 'Uploading…' : 'Import'}</button>
        <Action label="Download a template" quiet run={() => saveFile('leads-template.csv', template)} />
      </div>
    </form>
  )
}

/** /imports: files of leads, newest first, and the way to send one. */
export const Imports = () => {
  const [query] = useQuery()
  const cursor = query.get('cursor') ?? undefined
  const { data, problem, refresh } = useLive(String(query), (signal) =>
    dataOf(api().GET('/manage/imports', { params: { query: { cursor } }, signal })),
  )
  const [columns, setColumns] = useState<FileColumn[]>([])
  useEffect(() => void loadColumns().then(setColumns), [])
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  return (
    <>
      <Title title="Imports" />
      <Upload />
      <Columns columns={columns} />
      {data.data.length === 0 ? (
        <Empty>Nothing was imported in the last 30 days.</Empty>
      ) : (
        <Table caption="Imports, newest first" columns={IMPORTS} rows={data.data} keyOf={({ id }) => id} />
      )}
      <Pager next={data.next_cursor} />
    </>
  )
}
