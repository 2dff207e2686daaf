import { api, readData } from '../api'
import { revealed } from '../endpoints'
import { Action } from './action'
import { Field, type FieldErrors, Options } from './form'
import { formatInstant } from './format'

const OVERLAPS: [value: string, text: string][] = [
  ['24h', '24 hours'],
  ['0s', '0 seconds (expires now)'],
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['7d', '7 days'],
  ['30d', '30 days'],
]

const renderFields = (errors: FieldErrors) => (
  <>
    <p>
      The new secret is shown once. Until the overlap ends, a receiver can verify with the old or the new
      secret.
    </p>
    <Field name="overlap" label="The old secret stays valid for" errors={errors}>
      {(attributes) => (
        <select {...attributes}>
          <Options options={OVERLAPS} chosen="24h" />
        </select>
      )}
    </Field>
    <Field
      name="secret"
      label="New secret"
      errors={errors}
      help="Leave empty to generate a secret. Fill in if the receiver chose one."
    >
      {(attributes) => <input class="mono" autocomplete="off" spellcheck={false} {...attributes} />}
    </Field>
  </>
)

/** The button that gives an endpoint a new secret. The endpoint's page then shows the secret. */
export const RotateSecret = ({ id }: { id: number }) => {
  const rotate = async (fields: FormData) => {
    const overlap = String(fields.get('overlap'))
    const body = { overlap, secret: String(fields.get('secret')) || undefined }
    const response = api().POST('/manage/webhook-endpoints/{id}/rotate-secret', {
      params: { path: { id } },
      body,
    })
    const { secret, old_secret_until } = (await readData(response)).data
    const note =
      overlap === '0s'
        ? 'The old secret has expired. Webhooks are signed with this secret only.'
        : `Until ${formatInstant(old_secret_until)}, X-SERVICE-Signature uses the old secret, and webhook-signature has one signature for each secret. Afterwards webhooks are signed with this secret only.`
    revealed.value = { endpointId: id, secret, note }
  }
  return (
    <Action
      label="Rotate secret"
      quiet
      run={rotate}
      question={{
        title: 'Rotate the secret',
        content: renderFields,
        yes: 'Rotate',
        names: ['overlap', 'secret'],
      }}
    />
  )
}
