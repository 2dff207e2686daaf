import { Link } from 'wouter-preact'
import { api } from '../api'
import { type Attempt, describeResult, isTest, type RetrievedDelivery, retrieveDelivery } from '../deliveries'
import { type Endpoint, labelEvent, listEndpoints, nameEndpoint } from '../endpoints'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { DeliveryState } from '../parts/deliveries-table'
import { formatDuration } from '../parts/format'
import { useLive } from '../parts/live'
import { Facts, Failure, Loading, type PageProps, Title } from '../parts/page'
import { useRetry } from '../parts/retry'
import { SentRequest } from '../parts/sent-request'
import { Ago, Ahead, Exactly } from '../parts/time'

interface Shown {
  delivery: RetrievedDelivery
  /** Undefined if the endpoint was deleted. */
  endpoint?: Endpoint
}

/**
 * Returns whether the API would accept a retry: the endpoint is enabled, the lead is not erased, the delivery
 * is not held or cancelled, and no attempt is in flight or about to start.
 */
const mayRetry = ({ delivery, endpoint }: Shown) => {
  const { status, next_attempt_at, request } = delivery
  if (!endpoint?.enabled || !request || status === 'held' || status === 'cancelled') return false
  return status !== 'pending' || (next_attempt_at !== null && Date.parse(next_attempt_at) > Date.now() + 2000)
}

/** Describes what happens next. Returns null if nothing is left to do, or if an attempt is in flight. */
const renderNextStep = ({ status, next_attempt_at }: RetrievedDelivery) => {
  if (status === 'held') return <>Paused (held) until its endpoint is enabled.</>
  if (status === 'exhausted') return <>No attempts are left. The delivery is kept, and you can retry it.</>
  if (status === 'cancelled') return <>Cancelled: the endpoint was deleted, or the lead was erased.</>
  if (!next_attempt_at) return null
  return (
    <>
      Next attempt <Ahead at={next_attempt_at} />, at <Exactly at={next_attempt_at} />
    </>
  )
}

/** Explains why an attempt has no response body. For an empty body the API returns null. */
const explainNoBody = ({ status, error }: Attempt) => {
  if (status === null) return 'No response.'
  return error === 'timeout' ? 'No body arrived in time.' : 'The response was empty.'
}

const Response = ({ attempt, isOpen }: { attempt: Attempt; isOpen: boolean }) =>
  attempt.response ? (
    <details open={isOpen}>
      <summary>
        Response <span class="faint">{attempt.response.length} characters</span>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{attempt.response}</pre>
    </details>
  ) : (
    <p class="none">{explainNoBody(attempt)}</p>
  )

/** Returns the pause between two attempts in milliseconds, from the end of the earlier one. */
const measurePause = (earlier: Attempt, later: Attempt): number => {
  const end = Date.parse(earlier.started_at) + earlier.duration_ms
  return Math.max(0, Date.parse(later.started_at) - end)
}

/** The attempts, newest first. The response to the newest attempt is expanded. */
const Timeline = ({ delivery }: { delivery: RetrievedDelivery }) => {
  const newestFirst = delivery.attempts.toReversed()
  const nextStep = renderNextStep(delivery)
  return (
    <ol class="timeline" reversed>
      {nextStep && <li class="ahead">{nextStep}</li>}
      {newestFirst.map((attempt, index) => {
        const previous = newestFirst[index + 1]
        return (
          <li key={attempt.number} class={attempt.error ? 'failed' : 'succeeded'}>
            <div class="card padded attempt">
              <div class="heading">
                <h3>{`Attempt ${attempt.number} ${attempt.error ? 'failed' : 'succeeded'}`}</h3>
                <Exactly at={attempt.started_at} />
              </div>
              <p class="outcome">{describeResult(attempt)}</p>
              <p class="faint">
                {`Took ${formatDuration(attempt.duration_ms)}`}
                {previous &&
                  `, ${formatDuration(measurePause(previous, attempt))} after the previous attempt`}
              </p>
              <Response attempt={attempt} isOpen={index === 0} />
            </div>
          </li>
        )
      })}
    </ol>
  )
}

const DeliveryLead = ({ delivery }: { delivery: RetrievedDelivery }) => {
  const { lead_reference: reference, lead_name: name } = delivery
  if (isTest(delivery)) return <>A sample, not a real lead</>
  if (reference === null) return <>None</>
  return (
    <>
      {name && (
        <>
          <Link href={`/leads/${reference}`}>{name}</Link>{' '}
        </>
      )}
      <Link class="mono" href={`/deliveries?lead_reference=${reference}`}>
        {reference}
      </Link>
    </>
  )
}

const listFacts = ({ delivery, endpoint }: Shown): Parameters<typeof Facts>[0]['rows'] => [
  [
    'Endpoint',
    endpoint ? (
      <Link href={`/endpoints/${endpoint.id}`}>{nameEndpoint(endpoint)}</Link>
    ) : (
      `${delivery.endpoint_id} (deleted)`
    ),
  ],
  ['Event', labelEvent(delivery.event)],
  ['Lead', <DeliveryLead delivery={delivery} />],
  ['Event ID (webhook-id)', <span class="mono">{delivery.event_id}</span>],
  ['Created', <Exactly at={delivery.created_at} />],
  ['Updated', <Ago at={delivery.updated_at} />],
]

/** /deliveries/:id: one delivery with its attempts and the request. */
export const Delivery = ({ id: text, scopes }: PageProps) => {
  const id = Number(text)
  const { data, problem, refresh } = useLive(text, async (signal): Promise<Shown> => {
    const [delivery, endpoints] = await Promise.all([retrieveDelivery(id, signal), listEndpoints(signal)])
    return { delivery, endpoint: endpoints.find((one) => one.id === delivery.endpoint_id) }
  })
  const { retry, outcome } = useRetry({
    send: () => api().POST('/manage/deliveries/{id}/retry', { params: { path: { id } } }),
    load: () => retrieveDelivery(id),
    refresh,
  })
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { delivery, endpoint } = data
  return (
    <>
      <Title
        title={`Delivery ${id}`}
        from={['Deliveries', '/deliveries']}
        actions={
          scopes.has('webhooks') &&
          mayRetry(data) && <Action label="Retry now" run={() => retry(delivery.attempts.length)} />
        }
      >
        {`Delivery ${id} `}
        <DeliveryState delivery={delivery} /> {isTest(delivery) && <Badge word="Test" tone="calm" />}
      </Title>
      <p role="status" class="outcome">
        {outcome}
      </p>
      <Facts rows={listFacts(data)} />
      <h2>Attempts</h2>
      <Timeline delivery={delivery} />
      <h2>Request</h2>
      {delivery.request ? (
        <SentRequest request={delivery.request} url={endpoint?.url} />
      ) : (
        <p class="faint">The request was erased together with the lead.</p>
      )}
    </>
  )
}
