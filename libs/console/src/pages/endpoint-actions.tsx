import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { api, ownEndpoint, readData, type Schemas } from '../api'
import { EVENT_OPTIONS, nameEndpoint, type ShownEndpoint } from '../endpoints'
import { Action } from '../parts/action'
import { Options } from '../parts/form'
import { formatCount } from '../parts/format'
import { showNotice } from '../parts/notices'
import { RotateSecret } from '../parts/rotate-secret'

export type Tested = Schemas['TestedWebhookEndpoint']
type EventType = Tested['event']

const deliveries = (count: number) => formatCount(count, 'delivery', 'deliveries')

/**
 * The actions of an endpoint. `onTested` is called with undefined when a test starts, and with the delivery
 * when the API has responded. `onShared` is called with the new portal link.
 */
export const EndpointActions = ({
  endpoint,
  refresh,
  onTested,
  onShared,
}: {
  endpoint: ShownEndpoint
  refresh: () => Promise<unknown>
  onTested: (sent: Tested | undefined) => void
  onShared: (link: string) => void
}) => {
  const { id, enabled, health } = endpoint
  const params = { path: { id } }
  const [, navigate] = useLocation()
  const [type, setType] = useState<EventType>()
  const isOwn = ownEndpoint.value !== null

  const sendTest = async () => {
    onTested(undefined)
    const body = { type: type ?? endpoint.events[0] }
    onTested((await readData(api().POST('/manage/webhook-endpoints/{id}/test', { params, body }))).data)
    await refresh()
  }
  const enable = async (to: boolean) => {
    await api().PATCH('/manage/webhook-endpoints/{id}', { params, body: { enabled: to } })
    showNotice(to ? 'Enabled: paused deliveries are sent now.' : 'Disabled: deliveries are paused (held).')
    await refresh()
  }
  const remove = async () => {
    await api().DELETE('/manage/webhook-endpoints/{id}', { params })
    showNotice(`${nameEndpoint(endpoint)} was deleted.`)
    navigate('/endpoints')
  }
  const share = async () => {
    onShared((await readData(api().POST('/manage/webhook-endpoints/{id}/portal', { params }))).data.url)
  }

  return (
    <>
      {enabled && (
        <>
          <select
            aria-label="Type of the test"
            onChange={({ currentTarget }) => setType(currentTarget.value as EventType)}
          >
            <Options options={EVENT_OPTIONS} chosen={type ?? endpoint.events[0]} />
          </select>
          <Action label="Send a test" run={sendTest} />
        </>
      )}
      {!enabled && <Action label="Enable" run={() => enable(true)} />}
      <Link class="button quiet" href={`/endpoints/${id}/edit`}>
        Edit
      </Link>
      <RotateSecret id={id} />
      {enabled && (
        <Action
          label="Disable"
          quiet
          run={() => enable(false)}
          question={{
            title: `Disable ${nameEndpoint(endpoint)}?`,
            content: (
              <p>
                {`Nothing is sent until you enable the endpoint. Waiting now: ${deliveries(health.pending)}. These and the deliveries of new events are paused (held) and kept.`}
              </p>
            ),
            yes: 'Disable',
          }}
        />
      )}
      {!isOwn && (
        <>
          <Action label="Share" quiet run={share} />
          <Action
            label="Delete"
            quiet
            danger
            run={remove}
            question={{
              title: `Delete ${nameEndpoint(endpoint)}?`,
              content: (
                <p>
                  {`Nothing more is sent. Waiting or paused now: ${deliveries(health.pending + health.held)}. They are cancelled. This can't be undone.`}
                </p>
              ),
              yes: 'Delete',
            }}
          />
        </>
      )}
    </>
  )
}
