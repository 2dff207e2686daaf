import { leadsApi } from '../api'
import { Action } from '../parts/action'
import { Field, type FieldErrors } from '../parts/form'
import { formatBytes } from '../parts/format'
import { showNotice } from '../parts/notices'
import { saveFile } from '../parts/save-file'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'
import type { Attachment, ShownLead } from './load-lead'

const load = async (reference: string, id: number): Promise<Blob> =>
  (await leadsApi().download(reference, id)).blob()

const makeColumns = (reference: string): Column<Attachment>[] => [
  { name: 'Name', cell: ({ name }) => <span class="wrap">{name}</span> },
  { name: 'File', cell: ({ file_name }) => <span class="wrap">{file_name}</span> },
  { name: 'Type', cell: ({ content_type }) => <span class="wrap">{content_type}</span> },
  { name: 'Size', cell: ({ file_size }) => formatBytes(file_size) },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  {
    name: 'Actions',
    cell: ({ id, file_name }) => (
      <span class="wrap">
        <Action
          label={`Download ${file_name}`}
          quiet
          run={() => saveFile(file_name, () => load(reference, id))}
        />
      </span>
    ),
  },
]

const renderFields = (errors: FieldErrors) => (
  <>
    <Field name="name" label="Name" errors={errors} help="For example: Survey of the house">
      {(attributes) => <input required {...attributes} />}
    </Field>
    <Field
      name="file"
      label="File"
      errors={errors}
      help="Up to 10 MiB: jpeg, png, gif, svg, pdf, txt, xlsx, docx."
    >
      {(attributes) => <input type="file" required {...attributes} />}
    </Field>
  </>
)

/** The files of a lead, with a button to add one. */
export const LeadFiles = ({
  shown: { lead, attachments, canChange },
  refresh,
}: {
  shown: ShownLead
  refresh: () => Promise<void>
}) => {
  const upload = async (fields: FormData) => {
    const content = fields.get('file') as File
    await leadsApi().attach(lead.reference, {
      name: String(fields.get('name')),
      fileName: content.name,
      content,
    })
    showNotice('The file was added.')
    await refresh()
  }
  return (
    <>
      <div class="heading">
        <h2>Files</h2>
        {canChange && (
          <Action
            label="Add a file"
            quiet
            run={upload}
            question={{ title: 'Add a file', yes: 'Upload', names: ['name', 'file'], content: renderFields }}
          />
        )}
      </div>
      {attachments.length === 0 ? (
        <p class="none">None</p>
      ) : (
        <Table
          caption="Files"
          columns={makeColumns(lead.reference)}
          rows={attachments}
          getKey={({ id }) => id}
        />
      )}
    </>
  )
}
