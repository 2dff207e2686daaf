import { leadsApi } from '../api'
import { Action } from '../parts/action'
import { Field, type FieldErrors } from '../parts/form'
import { showNotice } from '../parts/notices'
import type { LeadPage } from './use-lead'

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

/** The button that attaches a file to a lead, with a dialog. */
export const AddFile = ({ page }: { page: LeadPage }) => {
  const upload = async (fields: FormData) => {
    const content = fields.get('file') as File
    const file = { name: String(fields.get('name')), fileName: content.name, content }
    await leadsApi().attach(page.lead.reference, file)
    showNotice('The file was added.')
    await page.refresh()
  }
  const question = { title: 'Add a file', yes: 'Upload', names: ['name', 'file'], content: renderFields }
  return <Action label="Add a file" quiet run={upload} question={question} />
}
