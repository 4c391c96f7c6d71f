//! How a place of a shard is held, or one of another shard if that refuses it.

use super::Multi;
use super::give::{IfFull, Take};
use crate::admission::{Admits, Pooled};
#[cfg(feature = "tokio")]
use crate::async_pool::{AsyncFnPool, AsyncPool};
use crate::engine::{Held, Patience};
use crate::error::{Refused, SubmitError};
use crate::fn_pool::FnPool;
use crate::pool::Pool;

/// Up to so many places are held.
pub(crate) struct Hold;

/// A shard holds places of its own.
macro_rules! hold {
    ([$($generics:tt)*] $pool:ty) => {
        impl<$($generics)*> Take<Hold, usize> for $pool {
            type Receipt = Held<'static, <$pool as Pooled>::Work>;

            fn take(&self, most: usize, if_full: IfFull) -> Result<Self::Receipt, SubmitError<usize>> {
                let held = self.hold(most, if_full.patience(|| self.started().patience()));
                held.map(Held::into_owned).map_err(|refused| SubmitError::new(most, refused))
            }
        }
    };
}

hold!([] Pool);
hold!([T: Send + 'static, R: Send + 'static] FnPool<T, R>);
#[cfg(feature = "tokio")]
hold!([] AsyncPool);
#[cfg(feature = "tokio")]
hold!([T: Send + 'static, R: Send + 'static] AsyncFnPool<T, R>);

impl<P> Admits for Multi<P>
where
    P: Pooled + Take<Hold, usize, Receipt = Held<'static, <P as Pooled>::Work>>,
{
    type Work = <P as Pooled>::Work;

    fn hold(&self, most: usize, patience: Patience) -> Result<Held<'_, Self::Work>, Refused> {
        self.give::<Hold, usize>(most, IfFull::Chosen(patience)).map_err(Refused::from)
    }

    async fn hold_async(&self, most: usize) -> Result<Held<'_, Self::Work>, Refused> {
        let first = self.pick();
        let error = match self.shards()[first].take(most, IfFull::Elsewhere) {
            Ok(held) => return Ok(held),
            Err(error) => error,
        };
        let last = match self.give_elsewhere(first, error, IfFull::Chosen(Patience::Future)) {
            Ok(held) => return Ok(held),
            Err(last) => last,
        };
        match last.if_full {
            IfFull::Chosen(Patience::Future) => last.shard.hold_async(most).await,
            if_full => last.shard.take(most, if_full).map_err(Refused::from),
        }
    }
}
