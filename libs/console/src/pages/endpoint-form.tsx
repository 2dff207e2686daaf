import { useLocation } from 'wouter-preact'
import { api, dataOf, ownEndpoint } from '../api'
import {
  type Endpoint,
  EVENT_OPTIONS,
  type EventType,
  LEADS_WORDS,
  revealed,
  watchEndpoint,
} from '../endpoints'
import { REFERRER_OPTIONS, STATUS_WORDS } from '../leads'
import { Boxes, Field, Options, useForm } from '../parts/form'
import { useLive } from '../parts/live'
import { say } from '../parts/notices'
import { Failure, Loading, Title } from '../parts/page'

const NAMES = ['url', 'description', 'events', 'leads', 'filter', 'include', 'headers', 'secret']

const LISTS = [
  ['postcode', 'Postcodes', 'What they start with, such as SW1A, M1.'],
  ['user_email', 'Assigned users', 'Their e-mail addresses, parted by commas.'],
] as const

/** One header a line; a name alone keeps the value that its header has. */
const headersOf = (text: string): Record<string, string | null> =>
  Object.fromEntries(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean)
      .map((line) => {
        const [name = '', ...rest] = line.split(':')
        return [name.trim(), rest.join(':').trim() || null]
      }),
  )

const itemsOf = (text: FormDataEntryValue | null): string[] =>
  String(text)
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

/** The lists of a filter that are not empty; without any there is no filter. */
const filterOf = (fields: FormData) =>
  Object.fromEntries(
    Object.entries({
      status: fields.getAll('filter.status'),
      referrer: fields.getAll('filter.referrer'),
      postcode: itemsOf(fields.get('filter.postcode')),
      user_email: itemsOf(fields.get('filter.user_email')),
    }).filter(([, values]) => values.length > 0),
  ) as Endpoint['filter']

const bodyOf = (fields: FormData) => ({
  url: String(fields.get('url')),
  description: String(fields.get('description')) || null,
  ...(ownEndpoint.value === null && {
    events: fields.getAll('events') as EventType[],
    leads: fields.get('leads') as Endpoint['leads'],
    filter: filterOf(fields),
    include: fields.getAll('include') as Endpoint['include'],
  }),
  headers: headersOf(String(fields.get('headers'))),
})

const EndpointForm = ({
  endpoint,
  yes,
  save,
}: {
  endpoint?: Endpoint
  yes: string
  save: (fields: FormData) => Promise<void>
}) => {
  const { onSubmit, errors, failure, isBusy } = useForm(save, NAMES)
  return (
    <form class="card padded narrow" aria-busy={isBusy} noValidate onSubmit={onSubmit}>
      <Field name="url" label="URL" errors={errors} help="Where webhooks are sent: http or https.">
        {(attributes) => (
          <input type="url" class="mono" defaultValue={endpoint?.url ?? 'https://'} {...attributes} />
        )}
      </Field>
      <Field name="description" label="Name" errors={errors} help="For your own eyes, such as CRM.">
        {(attributes) => <input defaultValue={endpoint?.description ?? ''} {...attributes} />}
      </Field>
      {ownEndpoint.value === null && (
        <>
          <Boxes
            name="events"
            label="Events"
            options={EVENT_OPTIONS}
            checked={endpoint?.events ?? ['lead.created']}
            errors={errors}
          />
          <Field name="leads" label="Leads" errors={errors}>
            {(attributes) => (
              <select {...attributes}>
                <Options options={Object.entries(LEADS_WORDS)} chosen={endpoint?.leads ?? 'all'} />
              </select>
            )}
          </Field>
          <Boxes
            name="include"
            label="Bodies also have"
            options={[['attributes', 'Attributes']]}
            checked={endpoint?.include ?? []}
            errors={errors}
          />
          <details open={Boolean(endpoint?.filter)}>
            <summary>Filter</summary>
            <p class="faint help">It gets the events of leads that have one of the values of each list.</p>
            <Boxes
              name="filter.status"
              label="Status"
              options={Object.entries(STATUS_WORDS)}
              checked={endpoint?.filter?.status ?? []}
              errors={errors}
            />
            <Boxes
              name="filter.referrer"
              label="Referrer"
              options={REFERRER_OPTIONS}
              checked={endpoint?.filter?.referrer ?? []}
              errors={errors}
            />
            {LISTS.map(([key, label, help]) => (
              <Field key={key} name={`filter.${key}`} label={label} errors={errors} help={help}>
                {(attributes) => (
                  <input defaultValue={endpoint?.filter?.[key]?.join(', ') ?? ''} {...attributes} />
                )}
              </Field>
            ))}
          </details>
        </>
      )}
      <Field
        name="headers"
        label="Own headers"
        errors={errors}
        help="One a line, such as Authorization: Bearer … A name alone keeps the value that it has, which is not shown."
      >
        {(attributes) => (
          <textarea
            rows={2}
            class="mono"
            spellcheck={false}
            defaultValue={Object.keys(endpoint?.headers ?? {}).join('\n')}
            {...attributes}
          />
        )}
      </Field>
      {!endpoint && (
        <Field
          name="secret"
          label="Secret"
          errors={errors}
          help="Only if the receiver has one already; else one is made."
        >
          {(attributes) => <input class="mono" autocomplete="off" spellcheck={false} {...attributes} />}
        </Field>
      )}
      {failure}
      <div class="actions">
        <button type="submit">{yes}</button>
      </div>
    </form>
  )
}

/** /endpoints/new */
export const NewEndpoint = () => {
  const [, navigate] = useLocation()
  const save = async (fields: FormData) => {
    const body = { ...bodyOf(fields), secret: String(fields.get('secret')) || undefined }
    const { data } = await dataOf(api().POST('/manage/webhook-endpoints', { body }))
    const note = 'The receiver checks signatures with it.'
    revealed.value = { endpointId: data.id, secret: data.secret, note }
    navigate(`/endpoints/${data.id}`)
  }
  return (
    <>
      <Title title="New endpoint" from={['Endpoints', '/endpoints']} />
      <EndpointForm yes="Create" save={save} />
    </>
  )
}

/** /endpoints/:id/edit */
export const EditEndpoint = ({ id: text }: { id: string }) => {
  const id = Number(text)
  const [, navigate] = useLocation()
  const { data: endpoint, problem, refresh } = useLive(text, (signal) => watchEndpoint(id, signal))
  if (!endpoint) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const save = async (fields: FormData) => {
    const params = { path: { id } }
    await api().PATCH('/manage/webhook-endpoints/{id}', { params, body: bodyOf(fields) })
    say('Saved.')
    navigate(`/endpoints/${id}`)
  }
  return (
    <>
      <Title title="Edit endpoint" from={['Endpoint', `/endpoints/${id}`]} />
      <EndpointForm endpoint={endpoint} yes="Save" save={save} />
    </>
  )
}
