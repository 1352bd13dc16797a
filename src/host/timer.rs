//! Waiting for an instant of the real-time clock.
//!
//! Invariant: the timer counts suspended time, and ends early when somebody
//! sets the clock, so that whoever waits can think again (SCH-5). Nothing polls.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::unistd::read;

use crate::base::Wall;

/// Why the timer's descriptor became readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WallEvent {
    /// The instant has come.
    Fired,
    /// The clock was set; the timer still stands as it was.
    ClockChanged,
}

/// A timer on the real-time clock.
#[derive(Debug)]
pub struct WallTimer {
    timer: TimerFd,
}

impl WallTimer {
    /// A timer that is not set.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        Ok(Self { timer: TimerFd::new(ClockId::CLOCK_REALTIME, flags)? })
    }

    /// Sets it to an instant, in the past too (it fires at once), or to none.
    /// [`WallEvent::ClockChanged`]: the clock was set since the last call; the
    /// timer is set, but the instant was reckoned on the old clock.
    ///
    /// # Errors
    /// What the system says.
    pub fn set(&self, at: Option<Wall>) -> io::Result<Option<WallEvent>> {
        let Some(at) = at else {
            self.timer.unset()?;
            return Ok(None);
        };
        // Zero would mean "none".
        let since_epoch = Duration::from_micros(u64::try_from(at.0).unwrap_or(0).max(1));
        let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET;
        match self.timer.set(Expiration::OneShot(TimeSpec::from_duration(since_epoch)), flags) {
            Ok(()) => Ok(None),
            Err(Errno::ECANCELED) => Ok(Some(WallEvent::ClockChanged)),
            Err(errno) => Err(errno.into()),
        }
    }

    /// What has happened, if anything has; never waits.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self) -> io::Result<Option<WallEvent>> {
        let mut count = [0; 8];
        loop {
            match read(&self.timer, &mut count) {
                Ok(_) => return Ok(Some(WallEvent::Fired)),
                Err(Errno::ECANCELED) => return Ok(Some(WallEvent::ClockChanged)),
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl AsFd for WallTimer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

impl AsRawFd for WallTimer {
    fn as_raw_fd(&self) -> libc::c_int {
        self.timer.as_fd().as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::{WallEvent, WallTimer};
    use crate::base::Wall;
    use crate::host::clock::now;
    use nix::poll::{PollFd, PollFlags, poll};
    use std::os::fd::AsFd;
    use std::time::Duration;

    fn readable(timer: &WallTimer, at_most_ms: u16) -> bool {
        poll(&mut [PollFd::new(timer.as_fd(), PollFlags::POLLIN)], at_most_ms).unwrap() == 1
    }

    /// SCH-5: it fires at its instant, not before, and once.
    #[test]
    fn it_fires_at_its_instant() {
        let timer = WallTimer::new().unwrap();
        let at = now().wall + Duration::from_millis(20);
        assert_eq!(timer.set(Some(at)).unwrap(), None);
        assert!(readable(&timer, 10_000));
        // Somebody may set the clock of the machine meanwhile; the timer stands.
        while timer.read().unwrap() == Some(WallEvent::ClockChanged) {
            assert!(readable(&timer, 10_000));
        }
        assert!(now().wall >= at);
        assert_eq!(timer.read().unwrap(), None);
    }

    #[test]
    fn the_past_fires_at_once_and_none_never() {
        let timer = WallTimer::new().unwrap();
        for past in [0, -5, 1_000_000] {
            timer.set(Some(Wall(past))).unwrap();
            assert!(readable(&timer, 10_000));
            assert_eq!(timer.read().unwrap(), Some(WallEvent::Fired));
        }
        timer.set(Some(Wall(1))).unwrap();
        timer.set(None).unwrap();
        assert!(!readable(&timer, 0));
    }
}
