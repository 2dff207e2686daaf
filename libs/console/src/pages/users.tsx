import { useState } from 'preact/hooks'
import { api, dataOf } from '../api'
import { Action } from '../parts/action'
import { Field, type FieldErrors } from '../parts/form'
import { useLive } from '../parts/live'
import { say } from '../parts/notices'
import { Empty, Failure, Loading, Title } from '../parts/page'
import { Secret } from '../parts/secret'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'
import { listUsers, type User } from '../users'

const NAMES = ['name', 'email']

const fieldsFor = (user?: User) => (errors: FieldErrors) => (
  <>
    <Field name="name" label="Name" errors={errors}>
      {(attributes) => <input defaultValue={user?.name} {...attributes} />}
    </Field>
    <Field name="email" label="E-mail" errors={errors} help="Notifications go there.">
      {(attributes) => <input type="email" defaultValue={user?.email} {...attributes} />}
    </Field>
  </>
)

const bodyOf = (fields: FormData) => ({
  name: String(fields.get('name')),
  email: String(fields.get('email')),
})

interface Calendar {
  name: string
  url: string
}

interface Rows {
  refresh: () => Promise<void>
  /** Called with an address that is shown only now. */
  onCalendar: (calendar: Calendar) => void
}

const RowActions = ({ user, refresh, onCalendar }: Rows & { user: User }) => {
  const params = { path: { id: user.id } }
  const makeCalendar = async () => {
    const { data } = await dataOf(api().POST('/manage/users/{id}/calendar', { params }))
    onCalendar({ name: user.name, url: data.url })
    await refresh()
  }
  const revokeCalendar = async () => {
    await api().DELETE('/manage/users/{id}/calendar', { params })
    say(`The calendar of ${user.name} can't be read any more.`)
    await refresh()
  }
  const update = async (fields: FormData) => {
    await api().PATCH('/manage/users/{id}', { params, body: bodyOf(fields) })
    say('Saved.')
    await refresh()
  }
  const remove = async () => {
    await api().DELETE('/manage/users/{id}', { params })
    say(`${user.name} was removed.`)
    await refresh()
  }
  return (
    <span class="actions">
      <Action
        label="Edit"
        quiet
        run={update}
        question={{ title: `Edit ${user.name}`, yes: 'Save', names: NAMES, content: fieldsFor(user) }}
      />
      <Action
        label={user.calendar_created_at ? 'New calendar address' : 'Calendar address'}
        quiet
        run={makeCalendar}
        question={{
          title: `Make an address for the calendar of ${user.name}?`,
          yes: 'Make it',
          content: (
            <p>
              A calendar program can subscribe to appointments and callbacks at it. An address made before
              stops working.
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
            content: <p>Calendar programs that subscribed to it get nothing more.</p>,
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
            <p>
              No more leads can be assigned to this user, who gets no more notifications. Leads, appointments
              and callbacks of this user stay. It can't be undone.
            </p>
          ),
        }}
      />
    </span>
  )
}

const columnsOf = (rows: Rows): Column<User>[] => [
  { name: 'Name', cell: ({ name }) => <span class="wrap">{name}</span> },
  { name: 'E-mail', cell: ({ email }) => <span class="wrap">{email}</span> },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  { name: 'Actions', cell: (user) => <RowActions user={user} {...rows} /> },
]

/** /users: the people that leads can be assigned to. */
export const Users = () => {
  const { data: users, problem, refresh } = useLive('users', listUsers)
  const [calendar, setCalendar] = useState<Calendar>()
  if (!users) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const create = async (fields: FormData) => {
    await api().POST('/manage/users', { body: bodyOf(fields) })
    say('Created.')
    await refresh()
  }
  return (
    <>
      <Title
        title="Users"
        actions={
          <Action
            label="New user"
            run={create}
            question={{ title: 'New user', yes: 'Create', names: NAMES, content: fieldsFor() }}
          />
        }
      />
      {calendar && (
        <Secret
          title={`The address of the calendar of ${calendar.name}, shown only now`}
          secret={calendar.url}
          note="Anyone with this address can read the calendar. It can't be shown again."
          onStored={() => setCalendar(undefined)}
        />
      )}
      {users.length === 0 ? (
        <Empty>There are no users yet. Leads, appointments and callbacks are assigned to users.</Empty>
      ) : (
        <Table
          caption="Users"
          columns={columnsOf({ refresh, onCalendar: setCalendar })}
          rows={users}
          keyOf={({ id }) => id}
        />
      )}
    </>
  )
}
