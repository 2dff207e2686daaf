import { api, readData, type Schemas } from '../api'
import type { ShownEndpoint } from '../endpoints'
import { Action } from './action'
import { Field, type FieldErrors, Options } from './form'
import { formatCount, formatNumber } from './format'

export type Recovered = Schemas['RecoveredDeliveries']
type State = NonNullable<Schemas['RecoverWebhookEndpointRequest']['state']>
type Running = NonNullable<ShownEndpoint['recovery']>

const HOUR_MS = 3_600_000

// The values are hours. An empty value selects all stored deliveries.
const SINCE: [value: string, text: string][] = [
  ['', 'At any time'],
  ['1', 'In the last hour'],
  ['6', 'In the last 6 hours'],
  ['24', 'In the last 24 hours'],
  ['168', 'In the last 7 days'],
]

const WHICH: [State, string][] = [
  ['exhausted', 'Failed (exhausted)'],
  ['undelivered', 'Failed, or waiting for a retry'],
  ['all', 'All, including delivered'],
]

const formatCapped = (count: number, isCapped: boolean) =>
  `${isCapped ? 'at least ' : ''}${formatNumber(count)}`

/**
 * The button that retries deliveries of an endpoint, with a dialog to select deliveries. `onAsked` is called
 * with the number of selected deliveries.
 */
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
    await onAsked(
      (await readData(api().POST('/manage/webhook-endpoints/{id}/recover', { params, body }))).data,
    )
  }
  const content = (errors: FieldErrors) => (
    <>
      <p>
        {`${formatCount(health.exhausted, 'delivery', 'deliveries')} failed (exhausted). Each selected delivery gets one more attempt. Ten attempts start per second, oldest first.`}
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

/**
 * Describes how many deliveries are left to retry, of `all` at the start. `all` is undefined if the number at
 * the start is unknown.
 */
const renderRemaining = ({ remaining, remaining_capped }: Running, all: number | undefined): string => {
  const left = `${formatCapped(remaining, remaining_capped)} left`
  return all ? `Retrying: ${left} of ${formatNumber(all)}.` : `Retrying: ${left}.`
}

/**
 * The progress of a recovery. `asked` is the response to the request that started the recovery, or undefined
 * if this page did not send the request.
 */
export const RecoveryProgress = ({ endpoint, asked }: { endpoint: ShownEndpoint; asked?: Recovered }) => {
  const { recovery, health } = endpoint
  if (!recovery && !asked) return null
  const all = asked?.recovered_capped ? undefined : asked?.recovered
  return (
    <section class="card padded" aria-label="Recovery">
      <p role="status">
        {recovery
          ? renderRemaining(recovery, all)
          : `Retried: ${formatCapped(asked!.recovered, asked!.recovered_capped)}. Failed (exhausted) now: ${formatNumber(health.exhausted)}.`}
      </p>
      {recovery && all && <progress aria-label="Retried" max={all} value={all - recovery.remaining} />}
    </section>
  )
}
