import { api, dataOf } from '../api'
import { revealed } from '../endpoints'
import { Action } from './action'
import { Field, type FieldErrors, Options } from './form'
import { moment } from './format'

const OVERLAPS: [value: string, text: string][] = [
  ['24h', '24 hours'],
  ['0s', 'not at all: the old one ends now'],
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['7d', '7 days'],
  ['30d', '30 days'],
]

const rotateFields = (errors: FieldErrors) => (
  <>
    <p>
      The new secret is shown once. Until the overlap ends, a receiver may check with the old or the new one.
    </p>
    <Field name="overlap" label="The old secret still signs" errors={errors}>
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
      help="Only if the receiver chose one; else one is made."
    >
      {(attributes) => <input class="mono" autocomplete="off" spellcheck={false} {...attributes} />}
    </Field>
  </>
)

/** The button that gives an endpoint a new secret, which its page then reveals. */
export const RotateSecret = ({ id }: { id: number }) => {
  const rotate = async (fields: FormData) => {
    const overlap = String(fields.get('overlap'))
    const body = { overlap, secret: String(fields.get('secret')) || undefined }
    const answer = api().POST('/manage/webhook-endpoints/{id}/rotate-secret', {
      params: { path: { id } },
      body,
    })
    const { secret, old_secret_until } = (await dataOf(answer)).data
    const note =
      overlap === '0s'
        ? 'The old secret has ended: only this one signs.'
        : `Until ${moment(old_secret_until)} X-SERVICE-Signature is made with the old secret, and webhook-signature with both. From then on this one signs alone.`
    revealed.value = { endpointId: id, secret, note }
  }
  return (
    <Action
      label="Rotate secret"
      quiet
      run={rotate}
      question={{
        title: 'Rotate the secret',
        content: rotateFields,
        yes: 'Rotate',
        names: ['overlap', 'secret'],
      }}
    />
  )
}
