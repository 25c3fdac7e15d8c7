//! [`Device`]: where the arithmetic of training runs.

use std::fmt;

use anyhow::{Context, bail};

/// Where tensors live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(tch::Device);

impl Device {
    /// The processor.
    pub const CPU: Self = Self(tch::Device::Cpu);

    /// The device of this name: `cpu`, `cuda` or `cuda:N`, or `auto` for a GPU if there is one.
    ///
    /// # Errors
    /// If the name is none of these or there is no such device here.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let gpus = if tch::Cuda::is_available() { tch::Cuda::device_count().max(0) as usize } else { 0 };
        choose(text, gpus)
    }

    pub(super) fn torch(self) -> tch::Device {
        self.0
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            tch::Device::Cuda(index) => write!(f, "cuda:{index}"),
            _ => write!(f, "cpu"),
        }
    }
}

fn choose(text: &str, gpus: usize) -> anyhow::Result<Device> {
    let index = match text {
        "cpu" => return Ok(Device::CPU),
        "auto" if gpus == 0 => return Ok(Device::CPU),
        "auto" | "cuda" => 0,
        _ => text
            .strip_prefix("cuda:")
            .and_then(|index| index.parse::<usize>().ok())
            .with_context(|| format!("device '{text}' is not auto, cpu, cuda or cuda:N"))?,
    };
    match gpus {
        0 => bail!(
            "device '{text}': no GPU can be used here (libtorch needs its CUDA part: FOGFALL_CUDA=1 scripts/setup)"
        ),
        _ if index >= gpus => bail!("device '{text}': the GPUs here are cuda:0 to cuda:{}", gpus - 1),
        _ => Ok(Device(tch::Device::Cuda(index))),
    }
}

/// Sets how many threads a train step on the CPU uses, in the whole process. Changes the last bits of results.
pub fn set_threads(threads: usize) {
    tch::set_num_threads(i32::try_from(threads.max(1)).unwrap_or(i32::MAX));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_device_is_chosen_by_name_and_by_what_there_is() {
        assert_eq!(choose("auto", 0).unwrap(), Device::CPU);
        assert_eq!(choose("cpu", 2).unwrap(), Device::CPU);
        assert_eq!(choose("auto", 2).unwrap().to_string(), "cuda:0");
        assert_eq!(choose("cuda", 1).unwrap().to_string(), "cuda:0");
        assert_eq!(choose("cuda:1", 2).unwrap().to_string(), "cuda:1");
    }

    #[test]
    fn a_device_that_is_not_there_is_refused_with_the_reason() {
        let error = |text, gpus| choose(text, gpus).unwrap_err().to_string();
        assert!(error("cuda:0", 0).contains("no GPU can be used here"));
        assert_eq!(error("cuda:2", 2), "device 'cuda:2': the GPUs here are cuda:0 to cuda:1");
        for text in ["gpu", "cuda:", "cuda:x", "cuda:-1", "CPU", ""] {
            assert_eq!(error(text, 2), format!("device '{text}' is not auto, cpu, cuda or cuda:N"));
        }
    }
}
