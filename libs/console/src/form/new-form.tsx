import { api, readData, type Schemas } from '../api'
import { Action } from '../parts/action'
import { Field, type FieldErrors } from '../parts/form'
import { HONEYPOT, readOrigins } from './render-form'

export type CreatedForm = Schemas['CreatedToken']

const renderFields = (errors: FieldErrors) => (
  <>
    <Field name="name" label="Name" errors={errors} help="Each lead shows the name of its form.">
      {(attributes) => <input required defaultValue="Website form" autocomplete="off" {...attributes} />}
    </Field>
    <Field
      name="origins"
      label="Address of the website"
      errors={errors}
      help="Only pages of this website can send the form. Separate several addresses by spaces. For example: https://www.example.com"
    >
      {(attributes) => <input required autocomplete="url" {...attributes} />}
    </Field>
    <Field
      name="return_url"
      label="Address of the thank-you page (optional)"
      errors={errors}
      help="Visitors see this page after they have sent the form. Leave empty to show a page of Leadwire."
    >
      {(attributes) => <input type="url" autocomplete="off" {...attributes} />}
    </Field>
  </>
)

/** The button that creates the publishable token of a website form, with a dialog. */
export const NewForm = ({ onCreated }: { onCreated: (form: CreatedForm) => Promise<void> }) => {
  const create = async (fields: FormData) => {
    const body = {
      name: String(fields.get('name')),
      publishable: true,
      origins: readOrigins(String(fields.get('origins'))),
      return_url: String(fields.get('return_url')) || undefined,
      honeypot: HONEYPOT,
    }
    await onCreated((await readData(api().POST('/manage/tokens', { body }))).data)
  }
  const question = {
    title: 'New website form',
    yes: 'Create',
    names: ['name', 'origins', 'return_url'],
    content: renderFields,
  }
  return <Action label="New form" run={create} question={question} />
}
