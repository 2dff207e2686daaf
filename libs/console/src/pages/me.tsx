import { api, type Me as Person, readData, type Schemas } from '../api'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { useLive } from '../parts/live'
import { showNotice } from '../parts/notices'
import { Facts, Failure, Loading, Title } from '../parts/page'
import { SingleKeysSetting } from '../parts/single-keys'
import { type Column, Table } from '../parts/table'
import { Ago, Ahead, Exactly } from '../parts/time'
import { me } from '../session'
import { signOut } from '../sign-in'
import { ROLE_LABELS } from '../users'

type Session = Schemas['MySession']

const TITLE = 'Your sessions'

const End = ({ session: { id, current }, refresh }: { session: Session; refresh: () => Promise<void> }) => {
  const end = async () => {
    await api().DELETE('/me/sessions/{id}', { params: { path: { id } } })
    showNotice('The session has ended.')
    await refresh()
  }
  return <Action label="End" quiet danger run={current ? signOut : end} />
}

const makeColumns = (refresh: () => Promise<void>): Column<Session>[] => [
  {
    name: 'Signed in',
    cell: ({ created_at, current }) => (
      <span>
        <Exactly at={created_at} /> {current && <Badge word="This browser" tone="good" />}
      </span>
    ),
  },
  { name: 'Last used', cell: ({ last_used_at }) => <Ago at={last_used_at} /> },
  { name: 'Expires', cell: ({ expires_at }) => <Ahead at={expires_at} /> },
  { name: 'Actions', cell: (session) => <End session={session} refresh={refresh} /> },
]

const Sessions = ({ person: { name, email, role, account } }: { person: Person }) => {
  const { data, problem, refresh } = useLive('sessions', (signal) =>
    readData(api().GET('/me/sessions', { signal })),
  )
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  return (
    <>
      <Title title={TITLE} />
      <Facts
        rows={[
          ['Name', name],
          ['E-mail', email],
          ['Role', role && ROLE_LABELS[role]],
          ['Account', account.name],
        ]}
      />
      <p class="faint">
        Each browser in which you have signed in has a session. End the sessions that you do not recognise or
        no longer need.
      </p>
      <Table
        caption="Your sessions, newest first"
        columns={makeColumns(refresh)}
        rows={data.data}
        getKey={({ id }) => id}
      />
      <SingleKeysSetting />
    </>
  )
}

/** /me: the signed-in user, the user's sessions, and the setting for the keyboard. */
export const Me = () => {
  const person = me.value!
  if (person.type === 'user') return <Sessions person={person} />
  return (
    <>
      <Title title={TITLE} />
      <p>You signed in with a token, so you have no sessions. Only users have sessions.</p>
      <SingleKeysSetting />
    </>
  )
}
