import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { Me } from '../api'
import { Navigation } from './navigation'
import { Person } from './person'

/** The same width as in console.css, where the sidebar replaces the drawer. */
const SIDEBAR = '(min-width: 64rem)'

/** The navigation in a dialog, and the button that opens the dialog. */
export const Drawer = ({ me }: { me: Me }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const [isOpen, setOpen] = useState(false)
  const [path] = useLocation()
  const close = () => dialog.current?.close()
  const open = () => {
    setOpen(true)
    dialog.current!.showModal()
  }
  useEffect(close, [path])
  useEffect(() => {
    // A modal dialog that CSS hides would still block the page.
    const wide = matchMedia(SIDEBAR)
    wide.addEventListener('change', close)
    return () => wide.removeEventListener('change', close)
  }, [])
  const closeAfterClick = ({ target }: MouseEvent) => {
    const isBackdrop = target === dialog.current
    // Closes also for a link to the current page, which changes no path.
    if (isBackdrop || (target as Element).closest('a')) close()
  }
  return (
    <>
      <button type="button" class="menu quiet" aria-haspopup="dialog" onClick={open}>
        Menu
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the dialog too. */}
      <dialog
        ref={dialog}
        class="drawer"
        aria-label="Menu"
        onClose={() => setOpen(false)}
        onClick={closeAfterClick}
      >
        {isOpen && (
          <div>
            <div class="drawer-top">
              <p class="account">{me.account.name}</p>
              <button type="button" class="close" aria-label="Close the menu" onClick={close}>
                ×
              </button>
            </div>
            <Navigation />
            <Person me={me} />
          </div>
        )}
      </dialog>
    </>
  )
}
