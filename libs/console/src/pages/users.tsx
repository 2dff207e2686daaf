import type { Role } from '@leadwire/contracts/roles'
import { useState } from 'preact/hooks'
import { api, readData } from '../api'
import { Action } from '../parts/action'
import { Email } from '../parts/email'
import { Field, type FieldErrors, Options } from '../parts/form'
import { useLive } from '../parts/live'
import { showNotice } from '../parts/notices'
import { Empty, Failure, Loading, type PageProps, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { Secret } from '../parts/secret'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'
import { listUserPage, ROLE_LABELS, type User } from '../users'

const NAMES = ['name', 'email', 'role']

const NO_ROLE = 'No sign-in'

const ROLE_OPTIONS: [value: string, text: string][] = [['', NO_ROLE], ...Object.entries(ROLE_LABELS)]

const ROLE_HELP: [role: string, text: string][] = [
  [NO_ROLE, 'gets leads, appointments and notifications, but cannot open the console'],
  [ROLE_LABELS.admin, 'can do everything in the account'],
  [ROLE_LABELS.sales, 'reads, creates and changes leads'],
  [ROLE_LABELS.support, 'manages endpoints and deliveries, reads everything else'],
  [ROLE_LABELS.viewer, 'reads everything, changes nothing'],
]

const renderRoleHelp = (user?: User) => (
  <>
    {ROLE_HELP.map(([role, text]) => (
      <span key={role} class="line">{`${role}: ${text}.`}</span>
    ))}
    <span class="line">
      {user
        ? 'A change of the role ends the sessions of the user.'
        : 'A user with a role gets an invitation by e-mail.'}
    </span>
  </>
)

const renderFields = (user?: User) => (errors: FieldErrors) => (
  <>
    <Field name="name" label="Name" errors={errors}>
      {(attributes) => <input defaultValue={user?.name} {...attributes} />}
    </Field>
    <Field name="email" label="E-mail" errors={errors} help="Notifications are sent to this address.">
      {(attributes) => <input type="email" defaultValue={user?.email} {...attributes} />}
    </Field>
    <Field name="role" label="Role" errors={errors} help={renderRoleHelp(user)}>
      {(attributes) => (
        <select {...attributes}>
          <Options options={ROLE_OPTIONS} chosen={user?.role} />
        </select>
      )}
    </Field>
  </>
)

const readBody = (fields: FormData) => ({
  name: String(fields.get('name')),
  email: String(fields.get('email')),
  role: (String(fields.get('role')) || null) as Role | null,
})

const describeInvitation = (email: string) => `An invitation was sent to ${email}.`

interface Calendar {
  name: string
  url: string
}

interface Rows {
  refresh: () => Promise<void>
  /** Called with the new URL of a calendar, which is shown only once. */
  onCalendar: (calendar: Calendar) => void
}

const RowActions = ({ user, refresh, onCalendar }: Rows & { user: User }) => {
  const params = { path: { id: user.id } }
  const makeCalendar = async () => {
    const { data } = await readData(api().POST('/manage/users/{id}/calendar', { params }))
    onCalendar({ name: user.name, url: data.url })
    await refresh()
  }
  const revokeCalendar = async () => {
    await api().DELETE('/manage/users/{id}/calendar', { params })
    showNotice(`The calendar address of ${user.name} no longer works.`)
    await refresh()
  }
  const update = async (fields: FormData) => {
    const body = readBody(fields)
    await api().PATCH('/manage/users/{id}', { params, body })
    showNotice(body.role && !user.role ? `Saved. ${describeInvitation(body.email)}` : 'Saved.')
    await refresh()
  }
  const invite = async () => {
    await api().POST('/manage/users/{id}/invitation', { params })
    showNotice(describeInvitation(user.email))
  }
  const endSessions = async () => {
    await api().DELETE('/manage/users/{id}/sessions', { params })
    showNotice(`All sessions of ${user.name} have ended.`)
    await refresh()
  }
  const remove = async (fields: FormData) => {
    const query = { erase: fields.has('erase') }
    await api().DELETE('/manage/users/{id}', { params: { ...params, query } })
    showNotice(`${user.name} was removed.`)
    await refresh()
  }
  return (
    <span class="actions">
      <Action
        label="Edit"
        quiet
        run={update}
        question={{ title: `Edit ${user.name}`, yes: 'Save', names: NAMES, content: renderFields(user) }}
      />
      {user.role && <Action label="Send invitation" quiet run={invite} />}
      {user.role && (
        <Action
          label="End sessions"
          quiet
          danger
          run={endSessions}
          question={{
            title: `End all sessions of ${user.name}?`,
            yes: 'End sessions',
            content: (
              <p>
                The user is signed out in every browser, and unused sign-in links stop working. The user can
                ask for a new link.
              </p>
            ),
          }}
        />
      )}
      <Action
        label={user.calendar_created_at ? 'New calendar address' : 'Calendar address'}
        quiet
        run={makeCalendar}
        question={{
          title: `Create a calendar address for ${user.name}?`,
          yes: 'Create',
          content: (
            <p>
              Calendar programs can use the address to subscribe to appointments and callbacks. An earlier
              address stops working. If the token that you signed in with expires, the address expires too.
            </p>
          ),
        }}
      />
      {user.calendar_created_at && (
        <Action
          label="Revoke calendar"
          quiet
          danger
          run={revokeCalendar}
          question={{
            title: `Revoke the calendar address of ${user.name}?`,
            yes: 'Revoke',
            content: <p>Calendar programs that use the address get no more updates.</p>,
          }}
        />
      )}
      <Action
        label="Remove"
        quiet
        danger
        run={remove}
        question={{
          title: `Remove ${user.name}?`,
          yes: 'Remove',
          content: (
            <>
              <p>
                Leads can no longer be assigned to this user, and the user can no longer sign in and gets no
                more notifications. The user's leads, appointments and callbacks are kept. This can't be
                undone.
              </p>
              <label class="box">
                <input type="checkbox" name="erase" /> Also erase name and e-mail address in the history
              </label>
            </>
          ),
        }}
      />
    </span>
  )
}

/** Without `rows` the table has no actions. */
const makeColumns = (rows: Rows | false): Column<User>[] => [
  { name: 'Name', cell: ({ name }) => <span class="wrap">{name}</span> },
  { name: 'E-mail', cell: ({ email }) => <Email address={email} /> },
  {
    name: 'Role',
    cell: ({ role }) => (role ? ROLE_LABELS[role] : <span class="none">{NO_ROLE}</span>),
  },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  ...(rows ? [{ name: 'Actions', cell: (user: User) => <RowActions user={user} {...rows} /> }] : []),
]

/** /users: the users, to whom leads can be assigned and who may sign in with a role. */
export const Users = ({ scopes }: PageProps) => {
  const [query] = useQuery()
  const cursor = query.get('cursor') ?? undefined
  const { data, problem, refresh } = useLive(String(query), (signal) => listUserPage(cursor, signal))
  const [calendar, setCalendar] = useState<Calendar>()
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const mayManage = scopes.has('manage')
  const create = async (fields: FormData) => {
    const body = readBody(fields)
    await api().POST('/manage/users', { body })
    showNotice(
      `Created. ${body.role ? describeInvitation(body.email) : 'Without a role, no invitation is sent.'}`,
    )
    await refresh()
  }
  return (
    <>
      <Title
        title="Users"
        actions={
          mayManage && (
            <Action
              label="New user"
              run={create}
              question={{ title: 'New user', yes: 'Create', names: NAMES, content: renderFields() }}
            />
          )
        }
      />
      {calendar && (
        <Secret
          title={`The calendar address of ${calendar.name} (shown only once)`}
          secret={calendar.url}
          note="Anyone with this address can read the calendar. It can't be shown again."
          onStored={() => setCalendar(undefined)}
        />
      )}
      {data.data.length === 0 ? (
        <Empty>
          <p>There are no users yet. Leads, appointments and callbacks are assigned to users.</p>
          {mayManage && <p>Choose New user to add the first one.</p>}
        </Empty>
      ) : (
        <Table
          caption="Users"
          columns={makeColumns(mayManage && { refresh, onCalendar: setCalendar })}
          rows={data.data}
          getKey={({ id }) => id}
        />
      )}
      <Pager next={data.next_cursor} names={['First', 'Next']} />
    </>
  )
}
