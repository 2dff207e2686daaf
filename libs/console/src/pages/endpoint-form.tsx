import { useLocation } from 'wouter-preact'
import { api, ownEndpoint, readData } from '../api'
import {
  type Endpoint,
  EVENT_OPTIONS,
  type EventType,
  LEADS_LABELS,
  loadEndpoint,
  revealed,
} from '../endpoints'
import { REFERRER_OPTIONS, STATUS_LABELS } from '../leads'
import { Boxes, Field, Options, useForm } from '../parts/form'
import { useLive } from '../parts/live'
import { showNotice } from '../parts/notices'
import { Failure, Loading, Title } from '../parts/page'

const NAMES = ['url', 'description', 'events', 'leads', 'filter', 'include', 'headers', 'secret']

const LISTS = [
  ['postcode', 'Postcodes', 'The first characters, separated by commas. For example: SW1A, M1'],
  ['user_email', 'Assigned users', 'E-mail addresses, separated by commas'],
] as const

const HEADERS_HELP = 'One per line, for example: Authorization: Bearer …'
const STORED_HEADERS_HELP = 'A name without a value keeps the stored value, which is not shown.'

/** Parses headers, one per line. A name without a value becomes null, which keeps the stored value. */
const parseHeaders = (text: string): Record<string, string | null> =>
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

const parseList = (text: FormDataEntryValue | null): string[] =>
  String(text)
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

/**
 * Returns the non-empty lists of the filter. If all lists are empty, returns an empty object, which removes
 * the filter.
 */
const readFilter = (fields: FormData) =>
  Object.fromEntries(
    Object.entries({
      status: fields.getAll('filter.status'),
      referrer: fields.getAll('filter.referrer'),
      postcode: parseList(fields.get('filter.postcode')),
      user_email: parseList(fields.get('filter.user_email')),
    }).filter(([, values]) => values.length > 0),
  ) as Endpoint['filter']

const readBody = (fields: FormData) => ({
  url: String(fields.get('url')),
  description: String(fields.get('description')) || null,
  ...(ownEndpoint.value === null && {
    events: fields.getAll('events') as EventType[],
    leads: fields.get('leads') as Endpoint['leads'],
    filter: readFilter(fields),
    include: fields.getAll('include') as Endpoint['include'],
  }),
  headers: parseHeaders(String(fields.get('headers'))),
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
      <Field name="url" label="URL" errors={errors} help="The http or https address that receives webhooks">
        {(attributes) => (
          <input type="url" class="mono" defaultValue={endpoint?.url ?? 'https://'} {...attributes} />
        )}
      </Field>
      <Field name="description" label="Name" errors={errors} help="Shown only here. For example: CRM">
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
                <Options options={Object.entries(LEADS_LABELS)} chosen={endpoint?.leads ?? 'all'} />
              </select>
            )}
          </Field>
          <Boxes
            name="include"
            label="Include in bodies"
            options={[['attributes', 'Attributes']]}
            checked={endpoint?.include ?? []}
            errors={errors}
          />
          <details open={Boolean(endpoint?.filter)}>
            <summary>Filter</summary>
            <p class="faint help">
              The endpoint gets only events of leads that match one value of each list. Empty lists match all
              leads.
            </p>
            <Boxes
              name="filter.status"
              label="Status"
              options={Object.entries(STATUS_LABELS)}
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
        label="Additional headers"
        errors={errors}
        help={endpoint ? `${HEADERS_HELP} ${STORED_HEADERS_HELP}` : HEADERS_HELP}
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
          help="Leave empty to generate a secret. Fill in if the receiver already has one."
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

/** /endpoints/new: the form for a new endpoint. */
export const NewEndpoint = () => {
  const [, navigate] = useLocation()
  const save = async (fields: FormData) => {
    const body = { ...readBody(fields), secret: String(fields.get('secret')) || undefined }
    const { data } = await readData(api().POST('/manage/webhook-endpoints', { body }))
    const note = 'The receiver verifies signatures with this secret.'
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

/** /endpoints/:id/edit: the form of an existing endpoint. */
export const EditEndpoint = ({ id: text }: { id: string }) => {
  const id = Number(text)
  const [, navigate] = useLocation()
  const { data: endpoint, problem, refresh } = useLive(text, (signal) => loadEndpoint(id, signal))
  if (!endpoint) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const save = async (fields: FormData) => {
    const params = { path: { id } }
    await api().PATCH('/manage/webhook-endpoints/{id}', { params, body: readBody(fields) })
    showNotice('Saved.')
    navigate(`/endpoints/${id}`)
  }
  return (
    <>
      <Title title="Edit endpoint" from={['Endpoint', `/endpoints/${id}`]} />
      <EndpointForm endpoint={endpoint} yes="Save" save={save} />
    </>
  )
}
