import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, ownEndpoint, readData } from '../api'
import { describeOutcome, listDeliveries } from '../deliveries'
import {
  describeFilter,
  judgeEndpoint,
  LEADS_LABELS,
  labelEvent,
  loadEndpoint,
  nameEndpoint,
  renderDeliveriesPath,
  revealed,
  type ShownEndpoint,
  sumHours,
} from '../endpoints'
import { AttemptsChart } from '../parts/attempts-chart'
import { Badge } from '../parts/badge'
import { DeliveriesTable, DeliveryState } from '../parts/deliveries-table'
import { formatNumber, formatSuccessRate } from '../parts/format'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, type PageProps, Title } from '../parts/page'
import { Recover, type Recovered, RecoveryProgress } from '../parts/recover'
import { Secret } from '../parts/secret'
import { Ago, Exactly } from '../parts/time'
import { EndpointActions, type Tested } from './endpoint-actions'

const LATEST = 10

const SecretOnce = () =>
  revealed.value && (
    <Secret
      title="The new secret (shown only once)"
      secret={revealed.value.secret}
      note={revealed.value.note}
      onStored={() => {
        revealed.value = undefined
      }}
    />
  )

const TestOutcome = ({ sent }: { sent?: Tested }) => (
  <p role="status" class="outcome">
    {sent && (
      <>
        {`Test of ${labelEvent(sent.event)}: `}
        <DeliveryState delivery={sent} />
        {sent.attempt ? ` ${describeOutcome(sent.attempt)}. ` : ' No response within 5 seconds. '}
        <Link href={`/deliveries/${sent.id}`}>{`Delivery ${sent.id}`}</Link>
      </>
    )}
  </p>
)

/**
 * The IP addresses from which webhooks are sent, for the receiver's firewall. Renders nothing if they are not
 * configured.
 */
const Sources = () => {
  const [addresses, setAddresses] = useState<string[]>([])
  useEffect(() => {
    const load = readData(api().GET('/manage/webhook-sources'))
    load.then(({ data }) => setAddresses(data.addresses)).catch(() => undefined)
  }, [])
  return addresses.length > 0 && <p class="faint wrap">{`Webhooks come from ${addresses.join(', ')}.`}</p>
}

const Figures = ({ endpoint: { id, health } }: { endpoint: ShownEndpoint }) => {
  const linked = (status: 'pending' | 'held' | 'exhausted') =>
    health[status] ? <Link href={renderDeliveriesPath(id, status)}>{formatNumber(health[status])}</Link> : '0'
  return (
    <dl class="tiles">
      {(
        [
          ['Last success', health.last_success_at ? <Ago at={health.last_success_at} /> : 'never'],
          ['Success, 24 h', formatSuccessRate(sumHours(health.hours))],
          ['Waiting', linked('pending')],
          ['Paused (held)', linked('held')],
          ['Failed (exhausted)', linked('exhausted')],
        ] as const
      ).map(([name, value]) => (
        <div key={name} class="tile">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** /endpoints/:id: one endpoint with its actions, health and latest deliveries. */
export const Endpoint = ({ id: text, scopes }: PageProps) => {
  const id = Number(text)
  const { data, problem, refresh } = useLive(text, async (signal) => {
    const [endpoint, page] = await Promise.all([
      loadEndpoint(id, signal),
      listDeliveries({ endpoint_id: text }, signal),
    ])
    return { endpoint, latest: page.data.slice(0, LATEST) }
  })
  const [sent, setSent] = useState<Tested>()
  const [asked, setAsked] = useState<Recovered>()
  const [link, setLink] = useState<string>()
  const isOwn = ownEndpoint.value !== null
  const mayManage = scopes.has('webhooks')
  useEffect(
    () => () => {
      revealed.value = undefined
    },
    [],
  )
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { endpoint, latest } = data
  const { enabled, health } = endpoint
  const { word, tone, because } = judgeEndpoint(endpoint)

  return (
    <>
      <Title
        title={nameEndpoint(endpoint)}
        from={isOwn ? undefined : ['Endpoints', '/endpoints']}
        actions={
          mayManage && (
            <EndpointActions endpoint={endpoint} refresh={refresh} onTested={setSent} onShared={setLink} />
          )
        }
      >
        {nameEndpoint(endpoint)} <Badge word={word} tone={tone} />
      </Title>
      <p class="mono faint wrap">{endpoint.url}</p>
      <p class="faint">
        {`${because}. ${LEADS_LABELS[endpoint.leads]}. Events: ${endpoint.events.map(labelEvent).join(', ')}.`}
      </p>
      {endpoint.filter && <p class="faint">{`Only leads with: ${describeFilter(endpoint.filter)}`}</p>}
      {endpoint.previous_secret_until && (
        <p class="faint">
          The previous secret stays valid until <Exactly at={endpoint.previous_secret_until} />.
        </p>
      )}
      <Sources />
      <TestOutcome sent={sent} />
      <SecretOnce />
      {link && (
        <Secret
          title="A link to this endpoint (shown only once)"
          secret={link}
          note="Send the link to the operator of the receiver. It works once, within an hour, and shows only this endpoint and its deliveries. To end the access, revoke its token."
          onStored={() => setLink(undefined)}
        />
      )}
      <RecoveryProgress endpoint={endpoint} asked={asked} />
      <Figures endpoint={endpoint} />
      {mayManage && enabled && (
        <div class="actions">
          <Recover
            endpoint={endpoint}
            onAsked={async (recovered) => {
              setAsked(recovered)
              await refresh()
            }}
          />
          <Link class="button quiet" href={`/endpoints/${id}/replay`}>
            Replay events
          </Link>
        </div>
      )}
      <AttemptsChart hours={health.hours} />
      <div class="heading">
        <h2>Latest deliveries</h2>
        <Link href={renderDeliveriesPath(id)}>All deliveries</Link>
      </div>
      {latest.length === 0 ? (
        <Empty>
          <p>Nothing has been sent to this endpoint yet.</p>
          {mayManage && enabled && <p>Choose Send a test to check that the endpoint responds.</p>}
        </Empty>
      ) : (
        <DeliveriesTable deliveries={latest} />
      )}
    </>
  )
}
