import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { showProblem } from '../parts/notices'
import { areSingleKeysOn } from '../parts/single-keys'

interface DialogProps {
  onClose: () => void
}

// The dialog is loaded when it is opened for the first time, because most visits do without it.
const loaded = signal<{ component: ComponentType<DialogProps> }>()
const isOpen = signal(false)

const open = async () => {
  try {
    const { JumpDialog } = await import('./jump-dialog')
    loaded.value = { component: JumpDialog }
    isOpen.value = true
  } catch (error) {
    showProblem(error)
  }
}

/** Returns the search field of the page, if there is one and the user can see it. */
const findSearchField = () =>
  [...document.querySelectorAll<HTMLInputElement>('main :is(input[type=search], search [name=q])')].find(
    (field) => field.checkVisibility(),
  )

const isTyping = ({ target }: KeyboardEvent) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input:not([type=checkbox]), select, textarea'))

const isJumpKey = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent) =>
  key.toLowerCase() === 'k' && ctrlKey !== metaKey && !altKey && !shiftKey

// Some keyboards have the slash on a key with Shift.
const isSlashKey = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent) =>
  key === '/' && !ctrlKey && !metaKey && !altKey

/**
 * Ctrl+K opens the dialog. A slash moves to the search field of the page, or else opens the dialog. The user
 * can switch the slash off.
 */
const handleKey = (event: KeyboardEvent) => {
  const isJump = isJumpKey(event)
  if (!isJump && (!areSingleKeysOn.value || !isSlashKey(event) || isTyping(event))) return
  event.preventDefault()
  // Does not lead away from an open dialog, which may have input.
  if (document.querySelector('dialog:modal')) return
  const field = !isJump && findSearchField()
  if (field) {
    field.focus()
    field.select()
  } else {
    void open()
  }
}

const SHORTCUT = /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'

/** The button and the keys that open the dialog for jumping to a page or a record. */
export const JumpButton = () => {
  useEffect(() => {
    document.addEventListener('keydown', handleKey)
    return () => document.removeEventListener('keydown', handleKey)
  }, [])
  const Dialog = loaded.value?.component
  return (
    <>
      <button
        type="button"
        class="jump quiet"
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={open}
      >
        <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
          <circle cx="9" cy="9" r="6" />
          <path d="m13.5 13.5 5 5" />
        </svg>
        <span class="label">Jump to…</span>
        <span class="keys" aria-hidden="true">
          {SHORTCUT}
        </span>
      </button>
      {isOpen.value && Dialog && (
        <Dialog
          onClose={() => {
            isOpen.value = false
          }}
        />
      )}
    </>
  )
}
