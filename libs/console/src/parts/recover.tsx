import { api, dataOf, type Schemas } from '../api'
import type { ShownEndpoint } from '../endpoints'
import { Action } from './action'
import { Field, type FieldErrors, Options } from './form'
import { counted, number } from './format'

export type Recovered = Schemas['RecoveredDeliveries']
type State = NonNullable<Schemas['RecoverWebhookEndpointRequest']['state']>

const HOUR_MS = 3_600_000

// By hours before now; none stands for all that are kept.
const SINCE: [value: string, text: string][] = [
  ['', 'ever, as far as they are kept'],
  ['1', 'in the last hour'],
  ['6', 'in the last 6 hours'],
  ['24', 'in the last 24 hours'],
  ['168', 'in the last 7 days'],
]

const WHICH: [State, string][] = [
  ['exhausted', 'failed (exhausted)'],
  ['undelivered', 'failed, and those that wait for a retry'],
  ['all', 'all, delivered ones too'],
]

const capped = (count: number, isCapped: boolean) => `${isCapped ? 'at least ' : ''}${number(count)}`

/** Retries what an endpoint missed: since when, and which. `onAsked` gets what the API counted. */
export const Recover = ({
  endpoint: { id, created_at, health },
  onAsked,
}: {
  endpoint: ShownEndpoint
  onAsked: (recovered: Recovered) => Promise<void>
}) => {
  const run = async (fields: FormData) => {
    const hours = Number(fields.get('since'))
    const since = hours ? new Date(Date.now() - hours * HOUR_MS).toISOString() : created_at
    const body = { since, state: fields.get('state') as State }
    const params = { path: { id } }
    await onAsked((await dataOf(api().POST('/manage/webhook-endpoints/{id}/recover', { params, body }))).data)
  }
  const content = (errors: FieldErrors) => (
    <>
      <p>
        {`${counted(health.exhausted, 'delivery', 'deliveries')} failed (exhausted). Each gets one more try, ten a second, oldest first.`}
      </p>
      <Field name="state" label="Which" errors={errors}>
        {(attributes) => (
          <select {...attributes}>
            <Options options={WHICH} chosen="exhausted" />
          </select>
        )}
      </Field>
      <Field name="since" label="Created" errors={errors}>
        {(attributes) => (
          <select {...attributes}>
            <Options options={SINCE} />
          </select>
        )}
      </Field>
    </>
  )
  const title = 'Retry failed deliveries'
  return (
    <Action
      label={title}
      quiet={health.exhausted === 0}
      run={run}
      question={{ title, yes: 'Retry', content, names: ['state', 'since'] }}
    />
  )
}

/** How far a recovery is. `asked` is what this tab asked for. */
export const RecoveryProgress = ({ endpoint, asked }: { endpoint: ShownEndpoint; asked?: Recovered }) => {
  const { recovery, health } = endpoint
  if (!recovery && !asked) return null
  const all = asked && (asked.recovered_capped ? undefined : asked.recovered)
  return (
    <section class="card padded" aria-label="Recovery">
      <p role="status">
        {recovery
          ? `Retrying: ${capped(recovery.remaining, recovery.remaining_capped)} left${all ? ` of ${number(all)}` : ''}.`
          : `Retried: ${capped(asked!.recovered, asked!.recovered_capped)}. Failed (exhausted) now: ${number(health.exhausted)}.`}
      </p>
      {recovery && all && <progress aria-label="Retried" max={all} value={all - recovery.remaining} />}
    </section>
  )
}
