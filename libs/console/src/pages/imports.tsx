import { useEffect, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { api, readData } from '../api'
import {
  CHARSETS,
  chooseFormat,
  createImport,
  createTemplate,
  type FileColumn,
  type Import,
  loadColumns,
  STATES,
} from '../imports'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { Field, Options, useForm } from '../parts/form'
import { formatNumber } from '../parts/format'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, type PageProps, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { saveFile } from '../parts/save-file'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'

const IMPORTS: Column<Import>[] = [
  { name: 'Import', cell: ({ id }) => <Link href={`/imports/${id}`}>{`#${id}`}</Link> },
  {
    name: 'File',
    cell: ({ file_name: name }) =>
      name ? <span class="wrap">{name}</span> : <span class="none">no name</span>,
  },
  { name: 'State', cell: ({ state }) => <Badge {...STATES[state]} /> },
  { name: 'Rows read', cell: ({ rows_read }) => formatNumber(rows_read) },
  { name: 'Leads created', cell: ({ rows_created }) => formatNumber(rows_created) },
  { name: 'Rows failed', cell: ({ rows_failed }) => formatNumber(rows_failed) },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
]

const FIELDS: Column<FileColumn>[] = [
  { name: 'Column', cell: ({ name }) => <code>{name}</code> },
  { name: 'Content', cell: ({ what }) => what },
  {
    name: 'Required',
    cell: ({ isNeeded }) => (isNeeded ? 'yes' : <span class="none">no</span>),
  },
  { name: 'Example', cell: ({ example }) => example || <span class="none">–</span> },
]

const Columns = ({ columns }: { columns: FileColumn[] }) => (
  <details>
    <summary>Columns of a file</summary>
    <div class="part">
      <p>
        The first row has the names of the columns, in any order, case and spacing. Cells are separated by
        commas, semicolons, tabs or vertical bars. An exported file can be imported too.
      </p>
      <Table
        caption="Columns of a file of leads"
        columns={FIELDS}
        rows={columns}
        getKey={({ name }) => name}
      />
    </div>
  </details>
)

const Upload = () => {
  const [, navigate] = useLocation()
  const send = async (fields: FormData) => {
    const file = fields.get('file') as File
    const { id } = await createImport({
      file,
      fileName: file.name,
      format: chooseFormat(file.name),
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
        help="CSV with a header, or NDJSON (.ndjson). Invalid rows are listed. Each valid row creates a lead."
      >
        {(attributes) => <input type="file" accept=".csv,.txt,.ndjson,.jsonl" required {...attributes} />}
      </Field>
      <Field name="charset" label="Encoding">
        {(attributes) => (
          <select {...attributes}>
            <Options options={CHARSETS} />
          </select>
        )}
      </Field>
      <label class="box">
        <input type="checkbox" name="webhooks" /> Send webhooks for these leads (Lead created, Lead updated)
      </label>
      {failure}
      <div class="actions">
        <button type="submit">{isBusy ? 'Uploading…' : 'Import'}</button>
        <Action
          label="Download a template"
          quiet
          run={() => saveFile('leads-template.csv', createTemplate)}
        />
      </div>
    </form>
  )
}

/** /imports: the upload form for managers, and the imports, newest first. */
export const Imports = ({ scopes }: PageProps) => {
  const [query] = useQuery()
  const cursor = query.get('cursor') ?? undefined
  const { data, problem, refresh } = useLive(String(query), (signal) =>
    readData(api().GET('/manage/imports', { params: { query: { cursor } }, signal })),
  )
  const [columns, setColumns] = useState<FileColumn[]>([])
  useEffect(() => void loadColumns().then(setColumns), [])
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  return (
    <>
      <Title title="Imports" />
      {scopes.has('manage') && (
        <>
          <Upload />
          <Columns columns={columns} />
        </>
      )}
      {data.data.length === 0 ? (
        <Empty>Nothing was imported in the last 30 days.</Empty>
      ) : (
        <Table caption="Imports, newest first" columns={IMPORTS} rows={data.data} getKey={({ id }) => id} />
      )}
      <Pager next={data.next_cursor} />
    </>
  )
}
