import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { api, dataOf, ownEndpoint, type Schemas } from '../api'
import { EVENT_OPTIONS, nameOf, type ShownEndpoint } from '../endpoints'
import { Action } from '../parts/action'
import { Options } from '../parts/form'
import { counted } from '../parts/format'
import { say } from '../parts/notices'
import { RotateSecret } from '../parts/rotate-secret'

export type Tested = Schemas['TestedWebhookEndpoint']
type EventType = Tested['event']

const deliveries = (count: number) => counted(count, 'delivery', 'deliveries')

/** What can be done about an endpoint. `onTested` is called with a test's delivery, before it without; `onShared` with a link. */
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
    onTested((await dataOf(api().POST('/manage/webhook-endpoints/{id}/test', { params, body }))).data)
    await refresh()
  }
  const enable = async (to: boolean) => {
    await api().PATCH('/manage/webhook-endpoints/{id}', { params, body: { enabled: to } })
    say(to ? 'Enabled: what was paused is sent.' : 'Disabled: its deliveries are paused (held).')
    await refresh()
  }
  const remove = async () => {
    await api().DELETE('/manage/webhook-endpoints/{id}', { params })
    say(`${nameOf(endpoint)} is deleted.`)
    navigate('/endpoints')
  }
  const share = async () => {
    onShared((await dataOf(api().POST('/manage/webhook-endpoints/{id}/portal', { params }))).data.url)
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
            title: `Disable ${nameOf(endpoint)}?`,
            content: (
              <p>
                {`Nothing is sent to it until you enable it. Waiting now: ${deliveries(health.pending)}. They are paused (held) and kept, as are those of new events.`}
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
              title: `Delete ${nameOf(endpoint)}?`,
              content: (
                <p>
                  {`Nothing is sent to it any more. Waiting or paused now: ${deliveries(health.pending + health.held)}. They are cancelled. This can not be undone.`}
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
